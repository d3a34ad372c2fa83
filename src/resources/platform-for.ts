import type { PlatformApi, ResourceApi } from "../platform/api.ts";
import type { TokenSource } from "../platform/api.ts";

/** The platform, as one resource's tokens reach it. A client is made for one uuid and can be used for no other. */
export type PlatformFor = (uuid: string) => ResourceApi;

export function createPlatformFor(api: PlatformApi, tokensOf: (uuid: string) => TokenSource): PlatformFor {
  return (uuid) => api.forResource(uuid, tokensOf(uuid));
}
