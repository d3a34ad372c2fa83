import type { World } from "./world.ts";

// An attachment's name decides how an app names the config vars of an add-on (assumed, section 5).

/** Whether the name is valid for an attachment. */
export function isAttachmentName(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
}

/** The same rule as a sentence for error messages. */
export const ATTACHMENT_NAMES =
  "An attachment's name consists of upper-case letters, digits and underscores, and begins with a letter.";

/** The name of an add-on's first attachment to an app: under it, config vars have the names that the manifest declares. */
export function defaultName(world: Pick<World, "settings">): string {
  const prefix = withoutEnd(world.settings.addonManifest?.config_vars_prefix ?? "");
  return isAttachmentName(prefix) ? prefix : nameOfService(world);
}

const nameOfService = ({ settings: { addonId } }: Pick<World, "settings">) =>
  addonId.toUpperCase().replace(/[^A-Z0-9]/g, "_");

/** For a second add-on of a service on one app, and for those after it. */
const COLOURS =
  "TEAL AMBER CORAL IVORY OLIVE PLUM RUBY SAND SLATE VIOLET AQUA BLUE COPPER GOLD GREEN JADE ONYX PINK RED SILVER".split(
    " ",
  );

/** A name that is free: the wanted one, or that with a colour after it, or with a number. */
export function freeName(base: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(base)) return base;
  const colour = COLOURS.find((each) => !isTaken(`${base}_${each}`));
  if (colour) return `${base}_${colour}`;
  for (let number = 2; ; number++) if (!isTaken(`${base}_${number}`)) return `${base}_${number}`;
}

/**
 * The name that an add-on's config var has in an app where the add-on is attached under `attachment`: this takes the place
 * of the declared prefix, so `GADGET_URL` attached as `EVENTS` is `EVENTS_URL`. A name without the prefix stays.
 */
export function nameInApp(world: Pick<World, "settings">, attachment: string, declared: string): string {
  const prefix = prefixOf(world);
  // A state file of an earlier sandbox has attachments that are named like the service.
  const isUsual = attachment === defaultName(world) || attachment === nameOfService(world);
  if (isUsual || prefix === "" || !declared.startsWith(`${prefix}_`)) return declared;
  return attachment + declared.slice(prefix.length);
}

/** As the manifest says; else the words with which all declared names begin. */
function prefixOf({ settings: { addonManifest } }: Pick<World, "settings">): string {
  const { config_vars_prefix: prefix, config_vars: names = [] } = addonManifest ?? {};
  if (prefix !== undefined) return withoutEnd(prefix);
  const words = names.map((name) => name.split("_").slice(0, -1));
  const [first = []] = words;
  const end = first.findIndex((word, at) => !words.every((each) => each[at] === word));
  return (end < 0 ? first : first.slice(0, end)).join("_");
}

const withoutEnd = (prefix: string) => prefix.replace(/_+$/, "");
