import { z } from "zod";
import { messageOf } from "../errors.ts";
import { isJsonObject } from "../values.ts";
import { manifestSchema, type Manifest } from "./schema.ts";

/** An error breaks a rule of the platform's document; a warning is worth a person's attention. */
export interface Fault {
  /** RFC 6901; that of a missing member says where it would be. */
  pointer: string;
  severity: "error" | "warning";
  message: string;
}

export interface ManifestReport {
  /** No rule is broken; there may be warnings. */
  ok: boolean;
  faults: readonly Fault[];
  /** Only if `ok`: the manifest as it was given, unknown keys included. */
  manifest?: Manifest;
}

type Finding = { path: Path; message: string };

/** Finds all faults of a manifest (platform document, Resources, "App manifest"): errors first. */
export function checkManifest(value: unknown): ManifestReport {
  const broken = brokenRules(value);
  const isBroken = (path: Path) => broken.some((rule) => rule.path.every((step, at) => step === path[at]));
  const advised = [...unknownKeys(manifestSchema, value, []), ...advice(value)];
  const faults = [
    ...broken.map((each) => faultOf(each, "error")),
    ...advised.filter(({ path }) => !isBroken(path)).map((each) => faultOf(each, "warning")),
  ];
  return broken.length > 0 ? { ok: false, faults } : { ok: true, faults, manifest: value as Manifest };
}

/** The text may begin with a byte order mark. */
export function checkManifestText(bytes: Uint8Array | string): ManifestReport {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(bytes)));
  } catch (error) {
    const message = `Not JSON in UTF-8: ${messageOf(error)}`;
    return { ok: false, faults: [{ pointer: "", severity: "error", message }] };
  }
  return checkManifest(value);
}

function faultOf({ path, message }: Finding, severity: Fault["severity"]): Fault {
  const steps = path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`);
  return { pointer: steps.join(""), severity, message };
}

function brokenRules(value: unknown): Finding[] {
  return manifestSchema.safeParse(value).error?.issues.flatMap((issue) => errorsOf(issue, [])) ?? [];
}

function errorsOf(issue: z.core.$ZodIssue, above: Path): Finding[] {
  const path = [...above, ...(issue.path as Path)];
  const error = (at: Path, { message }: { message: string }): Finding => ({ path: at, message });
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => error([...path, key], issue));
  if (issue.code === "invalid_key") return issue.issues.map((inner) => error(path, inner));
  if (issue.code !== "invalid_union") return [error(path, issue)];
  // In "a string or an object" the form that the author meant is the one whose type fits: its faults lie further inside.
  const meant = issue.errors.find((inner) => !inner.some(isOfAnotherType));
  if (meant) return meant.flatMap((inner) => errorsOf(inner, path));
  const types = issue.errors.flat().flatMap((inner) => (isOfAnotherType(inner) ? [inner.expected] : []));
  return [error(path, { message: `Invalid input: expected ${types.join(" or ")}` })];
}

const isOfAnotherType = (issue: z.core.$ZodIssue): issue is z.core.$ZodIssueInvalidType =>
  issue.code === "invalid_type" && issue.path.length === 0;

/** The keys that the platform's document does not list, each with those that it does. */
function unknownKeys(schema: z.core.$ZodType, value: unknown, path: Path): Finding[] {
  if (schema instanceof z.ZodOptional) return unknownKeys(schema.unwrap(), value, path);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((form) => unknownKeys(form, value, path));
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.flatMap((each, index) => unknownKeys(schema.element, each, [...path, index]));
  if (!isJsonObject(value)) return [];
  if (schema instanceof z.ZodRecord)
    return Object.entries(value).flatMap(([key, each]) =>
      unknownKeys(schema.valueType, each, [...path, key]),
    );
  if (!(schema instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  const message = `The platform's manifest has no such key here, but ${Object.keys(shape).join(", ")}.`;
  return Object.entries(value).flatMap(([key, each]) =>
    Object.hasOwn(shape, key)
      ? unknownKeys(shape[key]!, each, [...path, key])
      : [{ path: [...path, key], message }],
  );
}

/** The path to a value in a JSON document, from its root: member names and element indexes. */
type Path = readonly (string | number)[];

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
function advice(manifest: unknown): Finding[] {
  const inEnvironments = [...ADVICE, ...OF_ENVIRONMENTS].map(
    ([where, ...rest]) => [`environments/*/${where}`, ...rest] as const,
  );
  return [...ADVICE, ...inEnvironments].flatMap(([where, isSo, message]) =>
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
