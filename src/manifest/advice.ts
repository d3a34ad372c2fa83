import { isJsonObject } from "../values.ts";

/** The path to a value in a JSON document, from its root: member names and element indexes. */
export type Path = readonly (string | number)[];

/** Holds for texts alone. */
const text = (isSo: (text: string) => boolean) => (value: unknown) =>
  typeof value === "string" && isSo(value);
const members = (value: unknown) => (isJsonObject(value) ? Object.values(value) : []);

const EPHEMERAL =
  "Review and CI apps ignore the plan and get one for ephemeral apps: write the add-on alone.";

/** What the platform's document advises, of an app and of each environment: where (`*`: each member), when, and what. */
const ADVICE: readonly [where: string, isSo: (value: unknown) => boolean, message: string][] = [
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
    "formation",
    (types) =>
      members(types).length > 1 && members(types).some((type) => isJsonObject(type) && !("size" in type)),
    "With several process types it is better to give each its size.",
  ],
  ["addons/*", text(() => true), 'The object form is preferred: { "plan": … }.'],
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
];
const OF_ENVIRONMENTS: typeof ADVICE = [
  ["addons/*", text((plan) => plan.includes(":")), EPHEMERAL],
  ["addons/*/plan", text((plan) => plan.includes(":")), EPHEMERAL],
];

/** What is deprecated, without effect, or better written otherwise, whatever else the manifest is. */
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
