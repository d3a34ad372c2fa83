import { warning, type Finding, type Path } from "./finding.ts";
import { attachmentName, type Manifest, type ManifestKeys } from "./schema.ts";

type Advice = readonly [path: Path, message: string];
type Addon = NonNullable<ManifestKeys["addons"]>[number];

/**
 * Warnings about what no rule forbids: what is deprecated, billed, without effect, or better written otherwise. Arrays
 * may have gaps where a broken element was left out; flatMap skips them.
 */
export function advice({ environments = {}, ...app }: Manifest): Finding[] {
  const ofEnvironments = Object.entries(environments).flatMap(([name, keys]) =>
    [...RULES, ephemeralPlans]
      .flatMap((rule) => rule(keys ?? {}))
      .map(([path, message]): Advice => [["environments", name, ...path], message]),
  );
  const all = [...RULES.flatMap((rule) => rule(app)), ...ofEnvironments];
  const isFirst = (message: string, at: number) => all.findIndex(([, other]) => other === message) === at;
  return all
    .filter(([, message], at) => !SAID_ONCE.includes(message) || isFirst(message, at))
    .map(([path, message]) => warning(path, message));
}

const DYNOS_BILLED = "The dynos of these processes are billed.";
const SCRIPTS_BILLED = "The dynos that run scripts are billed.";
const OLD_BUILDPACKS =
  "Only apps of the older generation take these; newer ones name theirs in project.toml.";
/** Not repeated for each environment. */
const SAID_ONCE = [DYNOS_BILLED, SCRIPTS_BILLED, OLD_BUILDPACKS];

/** Each rule gets the keys of the app, or those of an environment. */
const RULES: readonly ((keys: ManifestKeys) => readonly Advice[])[] = [
  ({ website }) =>
    when(
      website !== undefined && !isWebAddress(website),
      ["website"],
      "This is no web address: it would begin with https://",
    ),
  ({ repository }) =>
    when(
      repository !== undefined && !isRepository(repository),
      ["repository"],
      "This is no address of a repository: it would begin with https:// or git@",
    ),
  ({ logo }) =>
    when(
      logo !== undefined && !isWebAddress(logo),
      ["logo"],
      "This is no web address: a logo is fetched from one.",
    ),
  ({ logo = "" }) =>
    when(
      isWebAddress(logo) && OTHER_FORMATS.test(new URL(logo).pathname),
      ["logo"],
      "A logo is a square SVG, PNG or JPG.",
    ),
  ({ success_url: url = "/" }) =>
    when(
      !url.startsWith("/") && !/^[a-z][a-z0-9+.-]*:\/\/\S/i.test(url),
      ["success_url"],
      "Nobody is sent there: give a full URL, or a path of the new app that begins with /, or leave it out.",
    ),
  ({ image }) => when(image !== undefined, ["image"], "This is deprecated: leave it out."),
  ({ env = {} }) =>
    Object.entries(env).flatMap(([name, variable]) =>
      when(
        typeof variable !== "string" && variable.generator && variable.value !== undefined,
        ["env", name],
        "It has a value and a generator: keep the one that is meant.",
      ),
    ),
  ({ formation = {} }) =>
    when(
      Object.values(formation).some(({ quantity }) => quantity !== 0),
      ["formation"],
      DYNOS_BILLED,
    ),
  ({ formation = {} }) =>
    when(
      Object.keys(formation).length > 1 && Object.values(formation).some(({ size }) => size === undefined),
      ["formation"],
      "With several process types it is better to give each its size.",
    ),
  stringForm,
  ({ addons = [] }) =>
    addons.flatMap((addon, index) => {
      const path = ["addons", index, "as"];
      if (typeof addon === "string" || addon.as === undefined) return [];
      const name = attachmentName(addon);
      if (name === "") return when(true, path, "This is empty: leave it out to get the default name.");
      const advised = "A name that is sure to work begins with a letter, and holds letters, digits and _.";
      return when(!/^[A-Z][A-Z0-9_]*$/.test(name), path, advised);
    }),
  ({ addons = [] }) =>
    addons.flatMap((addon, index) =>
      Object.entries(typeof addon === "string" ? {} : (addon.options ?? {})).flatMap(([name, value]) =>
        when(
          typeof value !== "string" && value !== true,
          ["addons", index, "options", name],
          "An option should be a string, or true where it takes no value.",
        ),
      ),
    ),
  ({ addons = [] }) =>
    eachPlan(addons, (text, path) =>
      when(
        text.includes(" "),
        path,
        "This is not part of the plan's name: give it in the object form's options.",
      ),
    ),
  ({ buildpacks = [] }) => when(buildpacks.length > 0, ["buildpacks"], OLD_BUILDPACKS),
  ({ scripts }) =>
    when(
      commandsOf(scripts).some(([, command]) => command.trim() !== ""),
      ["scripts"],
      SCRIPTS_BILLED,
    ),
  ({ scripts }) =>
    commandsOf(scripts).flatMap(([path, command]) =>
      when(command.trim() === "", path, "This is empty, so nothing is run: give a command, or leave it out."),
    ),
];

function when(isSo: unknown, path: Path, message: string): Advice[] {
  return isSo ? [[path, message]] : [];
}

/** Reported only at the first such add-on, with the number of the others. */
function stringForm({ addons = [] }: ManifestKeys): Advice[] {
  const [first, ...more] = addons.flatMap((addon, index) =>
    typeof addon === "string" ? [{ addon, index }] : [],
  );
  if (!first) return [];
  const others = more.length > 0 ? ` The same goes for ${more.length} more.` : "";
  const message = `The object form is preferred: { "plan": "${withoutFlags(first.addon)}" }.${others}`;
  return [[["addons", first.index], message]];
}

/** Review and CI apps get the plan that the add-on's provider set for ephemeral apps. */
function ephemeralPlans({ addons = [] }: ManifestKeys): Advice[] {
  return eachPlan(addons, (text, path) => {
    const [name, plan] = withoutFlags(text).split(":");
    const message = `Review and CI apps ignore the plan and get one for ephemeral apps: write "${name}".`;
    return when(plan !== undefined, path, message);
  });
}

function eachPlan(addons: readonly Addon[], look: (text: string, path: Path) => Advice[]): Advice[] {
  return addons.flatMap((addon, index) =>
    typeof addon === "string" ? look(addon, ["addons", index]) : look(addon.plan, ["addons", index, "plan"]),
  );
}

/** The addon or addon:plan, without the command-line flags that some authors append to it. */
function withoutFlags(plan: string): string {
  return plan.split(" ")[0]!;
}

type Script = readonly [path: Path, command: string];

function commandsOf(scripts: ManifestKeys["scripts"] = {}): Script[] {
  return (["postdeploy", "pr-predestroy"] as const).flatMap((name): Script[] => {
    const script = scripts[name];
    if (script === undefined) return [];
    return typeof script === "string"
      ? [[["scripts", name], script]]
      : [[["scripts", name, "command"], script.command]];
  });
}

/** File extensions of other formats; an address without an extension may be of any format. */
const OTHER_FORMATS = /\.(gif|webp|avif|ico|bmp|tiff?|heic|pdf)$/i;

function isWebAddress(text: string): boolean {
  return /^https?:/i.test(text) && URL.canParse(text);
}

/** Accepts any URL, and git's form without a scheme: user@host:path. */
function isRepository(text: string): boolean {
  return /^[\w.+-]+@[\w.-]+:\S+$/.test(text) || (URL.canParse(text) && text.includes("://"));
}
