import type { World } from "../world/world.ts";

/** The headers of every call to the service: HTTP Basic and the partner API's media type (assumed, section 1). */
export function partnerHeaders({ settings }: World, hasBody: boolean): Record<string, string> {
  const credentials = Buffer.from(`${settings.addonId}:${settings.addonPassword}`).toString("base64");
  return {
    authorization: `Basic ${credentials}`,
    accept: "application/vnd.svc-addons+json; version=3",
    ...(hasBody && { "content-type": "application/json" }),
  };
}
