import type { World } from "../../world/world.ts";

/** Where apps and add-ons can be. */
export function regionsOf({ settings }: World): string[] {
  return settings.addonManifest?.regions ?? ["us", "eu"];
}
