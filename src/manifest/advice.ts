import { isJsonObject } from "../json-object.ts";

/** The path to a value in a JSON document, from its root: member names and element indexes. */
export type Path = readonly (string | number)[];

/** Holds for texts alone. */
const text = (isSo: (text: string) => boolean) => (value: unknown) =>
  typeof value === "string" && isSo(value);
const isWebAddress = (url: string) => /^https?:/i.test(url) && URL.canParse(url);
/** Any URL, or git's form without a scheme: user@host:path. */
const isRepository = (url: string) => /^([\w.+-]+@[\w.-]+:\S|[a-z][a-z0-9+.-]*:\/\/\S)/i.test(url);
const members = (value: unknown) => (isJsonObject(value) ? Object.values(value) : []);
const of = (value: unknown, name: string) => (isJsonObject(value) ? value[name] : undefined);
const isBlank = (command: string) => command.trim() === "";

const FLAGS = "This is not part of the plan's name: give it in the object form's options.";
const EPHEMERAL =
  "Review and CI apps ignore the plan and get one for ephemeral apps: write the add-on alone.";
const NO_COMMAND = "This is empty, so nothing is run: give a command, or leave it out.";

/** What no rule forbids, of an app and of each environment: where (`*`: each member), when, and what to say of it. */
const ADVICE: readonly [where: string, isSo: (value: unknown) => boolean, message: string][] = [
  ["website", text((url) => !isWebAddress(url)), "This is no web address: it would begin with https://"],
  [
    "repository",
    text((url) => !isRepository(url)),
    "This is no address of a repository: it would begin with https:// or git@",
  ],
  ["logo", text((url) => !isWebAddress(url)), "This is no web address: a logo is fetched from one."],
  [
    "logo",
    text((url) => /\.(gif|webp|avif|ico|bmp|tiff?|heic|pdf)(\?|$)/i.test(url)),
    "A logo is a square SVG, PNG or JPG.",
  ],
  [
    "success_url",
    text((url) => !/^(\/|[a-z][a-z0-9+.-]*:\/\/\S)/i.test(url)),
    "Nobody is sent there: give a full URL, or a path of the new app that begins with /, or leave it out.",
  ],
  ["image", () => true, "This is deprecated: leave it out."],
  [
    "env/*",
    (variable) => of(variable, "generator") !== undefined && of(variable, "value") !== undefined,
    "It has a value and a generator: keep the one that is meant.",
  ],
  [
    "formation",
    (types) => members(types).some((type) => of(type, "quantity") !== 0),
    "The dynos of these processes are billed.",
  ],
  [
    "formation",
    (types) => members(types).length > 1 && members(types).some((type) => of(type, "size") === undefined),
    "With several process types it is better to give each its size.",
  ],
  ["addons/*", text(() => true), 'The object form is preferred: { "plan": … }.'],
  ["addons/*", text((plan) => plan.includes(" ")), FLAGS],
  ["addons/*/plan", text((plan) => plan.includes(" ")), FLAGS],
  [
    "addons/*/as",
    text((name) => !/^[a-z][a-z0-9_]*$/i.test(name)),
    "A name that is sure to work begins with a letter, and holds letters, digits and _. For the default name leave it out.",
  ],
  [
    "addons/*/options/*",
    (option) => typeof option !== "string" && option !== true,
    "An option should be a string, or true where it takes no value.",
  ],
  [
    "buildpacks",
    (all) => Array.isArray(all) && all.length > 0,
    "Only apps of the older generation take these; newer ones name theirs in project.toml.",
  ],
  [
    "scripts",
    (scripts) => ["postdeploy", "pr-predestroy"].some((name) => of(scripts, name) !== undefined),
    "The dynos that run scripts are billed.",
  ],
  ["scripts/*", text(isBlank), NO_COMMAND],
  ["scripts/*/command", text(isBlank), NO_COMMAND],
];
const OF_ENVIRONMENTS: typeof ADVICE = [
  ["addons/*", text((plan) => plan.includes(":")), EPHEMERAL],
  ["addons/*/plan", text((plan) => plan.includes(":")), EPHEMERAL],
];

/** What is deprecated, billed, without effect, or better written otherwise, whatever else the manifest is. */
export function advice(manifest: unknown): { path: Path; message: string }[] {
  const all = [
    ...ADVICE,
    ...[...ADVICE, ...OF_ENVIRONMENTS].map(
      ([where, ...rest]) => [`environments/*/${where}`, ...rest] as const,
    ),
  ];
  return all.flatMap(([where, isSo, message]) =>
    placesIn(manifest, where.split("/"))
      .filter(({ value }) => isSo(value))
      .map(({ path }) => ({ path, message })),
  );
}

/** What there is at a path of which each `*` stands for every member. */
function placesIn(
  value: unknown,
  [step, ...rest]: string[],
  path: Path = [],
): { path: Path; value: unknown }[] {
  if (step === undefined) return [{ path, value }];
  const inner: [string | number, unknown][] = Array.isArray(value)
    ? value.map((each, index) => [index, each])
    : Object.entries(isJsonObject(value) ? value : {});
  return inner
    .filter(([key]) => step === "*" || step === key)
    .flatMap(([key, each]) => placesIn(each, rest, [...path, key]));
}
