import type { Manifest } from "./manifest.ts";

const known = new Set([
  ..."name description keywords website repository logo success_url stack image env formation addons".split(
    " ",
  ),
  ..."buildpacks scripts environments".split(" "),
]);

/** What is no fault, but not what its author may think. */
export function warningsOf(manifest: Omit<Manifest, "environments">): string[] {
  return [
    ...Object.keys(manifest)
      .filter((key) => !known.has(key))
      .map((key) => `/${key} is not known and has no effect.`),
    ...(manifest.image === undefined ? [] : ["/image is deprecated."]),
    ...urlWarnings(manifest),
    ...optionWarnings(manifest),
    ...sizeWarnings(manifest),
    ...Object.keys(manifest.scripts ?? {})
      .filter((name) => name !== "postdeploy" && name !== "pr-predestroy")
      .map((name) => `/scripts/${name} is not known and is never run.`),
  ];
}

function urlWarnings({ success_url: successUrl }: Manifest): string[] {
  if (successUrl === undefined || successUrl.startsWith("/") || /^https?:\/\//.test(successUrl)) return [];
  return ["/success_url is neither a fully-qualified URL nor a path beginning with /: nobody is sent there."];
}

function optionWarnings({ addons = [] }: Manifest): string[] {
  return addons.flatMap((addon, index) => {
    const options = typeof addon === "string" ? {} : (addon.options ?? {});
    return Object.entries(options)
      .filter(([, value]) => typeof value !== "string" && value !== true)
      .map(([name]) => `/addons/${index}/options/${name} should be a string, or true.`);
  });
}

function sizeWarnings({ formation = {} }: Manifest): string[] {
  const types = Object.entries(formation);
  const unsized = types.filter(([, { size }]) => size === undefined).map(([type]) => type);
  if (types.length < 2 || unsized.length === 0) return [];
  return [`/formation has several process types; give a size to ${unsized.join(", ")}.`];
}
