import { isAttachmentName } from "../world/attachments.ts";
import { attachmentName } from "./attachment-name.ts";
import type { Manifest } from "./manifest.ts";
import { base } from "./manifest-rules.ts";
import { isFullUrl } from "./success-url.ts";

/** Warnings about what is valid, but may not do what its author expects. */
export function warningsOf(manifest: Omit<Manifest, "environments">): string[] {
  return [
    ...Object.keys(manifest)
      .filter((key) => !Object.hasOwn(base, key) && key !== "$schema")
      .map((key) => `/${key} is not known and has no effect.`),
    ...(manifest.image === undefined ? [] : ["/image is deprecated."]),
    ...urlWarnings(manifest),
    ...addonWarnings(manifest),
    ...sizeWarnings(manifest),
    ...scriptWarnings(manifest),
  ];
}

function urlWarnings({ success_url: successUrl }: Manifest): string[] {
  if (successUrl === undefined || successUrl.startsWith("/") || isFullUrl(successUrl)) return [];
  return ["/success_url is neither a fully-qualified URL nor a path beginning with /: nobody is sent there."];
}

function addonWarnings({ addons = [] }: Manifest): string[] {
  return addons.flatMap((addon, index) => {
    const at = `/addons/${index}`;
    if (typeof addon === "string") return flagWarnings(at, addon);
    const { plan, as = "", options = {} } = addon;
    return [
      ...flagWarnings(`${at}/plan`, plan),
      ...nameWarnings(`${at}/as`, as),
      ...optionWarnings(at, options),
    ];
  });
}

function flagWarnings(at: string, plan: string): string[] {
  return plan.includes(" ")
    ? [`${at} has no effect from the first blank on: options stand in the object form.`]
    : [];
}

function nameWarnings(at: string, as: string): string[] {
  const name = attachmentName(as);
  if (name === "" || isAttachmentName(name)) return [];
  return [
    `${at} is no attachment's name: a letter, then letters, digits and underscores. One like it is given.`,
  ];
}

function optionWarnings(at: string, options: object): string[] {
  return Object.entries(options)
    .filter(([, value]) => typeof value !== "string" && value !== true)
    .map(([name]) => `${at}/options/${name} should be a string, or true.`);
}

function scriptWarnings({ scripts = {} }: Manifest): string[] {
  return Object.entries(scripts).flatMap(([name, script]) => {
    if (name !== "postdeploy" && name !== "pr-predestroy")
      return [`/scripts/${name} is not known and is never run.`];
    const command = typeof script === "string" ? script : script.command;
    return command.trim() === "" ? [`/scripts/${name} is empty: nothing is run.`] : [];
  });
}

function sizeWarnings({ formation = {} }: Manifest): string[] {
  // A type of which no process runs needs no size.
  const types = Object.entries(formation).filter(([, { quantity = 1 }]) => quantity > 0);
  const unsized = types.filter(([, { size }]) => size === undefined).map(([type]) => type);
  if (types.length < 2 || unsized.length === 0) return [];
  return [`/formation has several process types; give a size to ${unsized.join(", ")}.`];
}
