import type { PlatformApi, ResourceApi } from "../platform/api.ts";
import type { TokenSource } from "../platform/api.ts";

/** Makes the platform client of one resource. It uses that resource's tokens, and can be used for no other uuid. */
export type PlatformFor = (uuid: string) => ResourceApi;

export function createPlatformFor(api: PlatformApi, tokensOf: (uuid: string) => TokenSource): PlatformFor {
  return (uuid) => api.forResource(uuid, tokensOf(uuid));
}
