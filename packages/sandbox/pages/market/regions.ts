import type { World } from "../../world/world.ts";

/** The regions that apps and add-ons can be in. */
export function regionsOf({ settings }: World): string[] {
  return settings.addonManifest?.regions ?? ["us", "eu"];
}
