import { z } from "zod";
import { messageOf } from "../errors.ts";
import { isJsonObject } from "../values.ts";
import { type Path, type Place, placeOfMistake, placesOf } from "./places.ts";

/** An error breaks a rule of the platform's document; a warning is worth a person's attention. */
export interface Fault {
  /** RFC 6901; that of a missing member says where it would be. */
  pointer: string;
  severity: "error" | "warning";
  message: string;
  /** Where it stands in the text that was checked, counted from 1. */
  line?: number;
  column?: number;
}

export interface ManifestReport {
  /** No rule is broken; there may be warnings. */
  ok: boolean;
  faults: readonly Fault[];
  /** Only if `ok`: the manifest as it was given, unknown keys included. */
  manifest?: Manifest;
}

type Finding = Pick<Fault, "severity" | "message"> & { path: Path; place?: Place };

/**
 * Finds all faults of a manifest (platform document, Resources, "App manifest"): errors first. `placeOf` says where a
 * value stands in its text, and `others` are faults of that text.
 */
export function checkManifest(
  value: unknown,
  placeOf: (path: Path) => Place | undefined = () => undefined,
  others: readonly Finding[] = [],
): ManifestReport {
  const issues = manifestSchema.safeParse(value).error?.issues ?? [];
  const found = [...issues.flatMap((issue) => findingsOf(issue, [])), ...doubledNames(value)];
  const errors = found.filter(({ severity }) => severity === "error");
  const isBroken = (path: Path) => errors.some((error) => error.path.every((step, at) => step === path[at]));
  const warnings = [...found, ...others, ...advice(value)].filter(
    ({ severity, path }) => severity === "warning" && !isBroken(path),
  );
  const faults = [...errors, ...warnings].map(({ path, place = placeOf(path), ...rest }) => ({
    pointer: pointerTo(path),
    ...rest,
    ...place,
  }));
  return errors.length > 0 ? { ok: false, faults } : { ok: true, faults, manifest: value as Manifest };
}

/** The text may begin with a byte order mark. */
export function checkManifestText(bytes: Uint8Array | string): ManifestReport {
  const broken = (error: unknown, place: Place | null = null): ManifestReport => {
    const message = `Not JSON in UTF-8: ${messageOf(error).replace(/\s+/g, " ")}`;
    return { ok: false, faults: [{ pointer: "", severity: "error", message, ...place }] };
  };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(bytes));
  } catch (error) {
    return broken(error);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return broken(error, placeOfMistake(text));
  }
  const places = placesOf(text);
  const doubled = (places?.doubled ?? []).map(({ path, ...place }): Finding => {
    return { path, severity: "warning", message: DOUBLED, place };
  });
  return checkManifest(value, (path) => places?.of(path), doubled);
}

const DOUBLED = "This key is there twice, and the last one counts: leave one out.";

function pointerTo(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function findingsOf(issue: z.core.$ZodIssue, above: Path): Finding[] {
  const path = [...above, ...(issue.path as Path)];
  const { message } = issue;
  if (issue.code === "unrecognized_keys") {
    const severity = path.length === 1 && path[0] === "environments" ? "error" : "warning";
    return issue.keys.map((key) => ({ path: [...path, key], severity, message: UNKNOWN }));
  }
  if (issue.code === "invalid_key") return issue.issues.flatMap((inner) => findingsOf(inner, path));
  // In "a string or an object" the form that the author meant is the one whose type fits: its faults lie further inside.
  const meant = issue.code === "invalid_union" && issue.errors.find((inner) => !inner.some(isOfAnotherType));
  if (meant) return meant.flatMap((inner) => findingsOf(inner, path));
  return [{ path, severity: "error", message }];
}

const UNKNOWN = "The platform's manifest has no such key here.";

const isOfAnotherType = ({ code, path }: z.core.$ZodIssue) => code === "invalid_type" && path.length === 0;

/** Each attachment whose name, as the platform writes it, another one has already. */
function doubledNames(manifest: unknown): Finding[] {
  const lists = ["addons", "environments/*/addons"].flatMap((where) => placesIn(manifest, where.split("/")));
  return lists.flatMap((list) => {
    const taken = new Set<string>();
    return placesIn(list.value, ["*", "as"], list.path).flatMap(({ path, value }): Finding[] => {
      const name = typeof value === "string" ? value.trim().toUpperCase() : "";
      const isTaken = taken.has(name);
      if (name !== "") taken.add(name);
      const message = "Another add-on has this name already: give each attachment its own.";
      return isTaken ? [{ path, severity: "error", message }] : [];
    });
  });
}

const members = (value: unknown) => (isJsonObject(value) ? Object.values(value) : []);

type Advice = readonly [where: string, isSo: (value: unknown) => boolean, message: string];

/** What the platform's document advises, of an app and of each environment: where (`*`: each member), when, and what. */
const OF_BOTH: readonly Advice[] = [
  ["image", () => true, "This is deprecated: leave it out."],
  [
    "formation",
    (types) => {
      // A type of which no process runs needs no size.
      const running = members(types).filter((type) => isJsonObject(type) && type["quantity"] !== 0);
      return running.length > 1 && running.some((type) => !("size" in (type as object)));
    },
    "With several process types it is better to give each its size.",
  ],
  ["addons/*", (addon) => typeof addon === "string", 'The object form is preferred: { "plan": … }.'],
  [
    "addons/*/options/*",
    (value) => typeof value !== "string" && value !== true,
    "An option's value should be a string, or true where it takes none.",
  ],
  [
    "buildpacks",
    (all) => Array.isArray(all) && all.length > 0,
    "Only apps of the older generation take these; newer ones name theirs in project.toml.",
  ],
];
const ADVICE: readonly Advice[] = [
  ...OF_BOTH,
  ...OF_BOTH.map(([where, ...rest]) => [`environments/*/${where}`, ...rest] as const),
  [
    "environments/*/addons/*",
    (addon) => String(isJsonObject(addon) ? addon["plan"] : addon).includes(":"),
    "Review and CI apps ignore the plan and get one for ephemeral apps: write the add-on alone.",
  ],
];

/** What is deprecated, without effect, or better written otherwise, whatever else the manifest is. */
const advice = (manifest: unknown): Finding[] =>
  ADVICE.flatMap(([where, isSo, message]) =>
    placesIn(manifest, where.split("/"))
      .filter(({ value }) => isSo(value))
      .map(({ path }) => ({ path, severity: "warning", message })),
  );

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

// The app manifest as the platform's document describes it (Resources, "App manifest"). A key that it does not list is
// only warned of.

const MOST_NAME_CHARACTERS = 30;
/** Some authors append command-line flags to the plan. They do no harm. */
const PLAN = /^[^\s:]+(:[^\s:]+)?( +--\S.*)?$/;
/** A name that an environment variable can have: not empty, and without = and NUL. */
const VARIABLE_NAME = /^[^=\0]+$/;

/** Of a union, where no form's type fits. */
const EITHER = "Invalid input: expected object or string";

const plan = z.string().regex(PLAN, "An add-on is named as addon or addon:plan, without spaces.");

const variable = z.strictObject({
  description: z.string().describe("What it is for, for people").optional(),
  value: z.string().describe("Its value unless another is given").optional(),
  required: z.boolean().describe("Whether it must have a value; true unless given").optional(),
  generator: z.literal("secret").describe("secret: the platform generates its value").optional(),
});

const process = z.strictObject({
  quantity: z.int().min(0).describe("How many processes to keep running").optional(),
  size: z.string().describe("The dyno size; the runtime's default unless given").optional(),
});

const addon = z.strictObject({
  plan: plan.describe("addon:plan, or addon for its default plan"),
  as: z.string().describe("The attachment's name").optional(),
  options: z.record(z.string(), z.unknown()).describe("Options of the add-on: texts, or true").optional(),
});

const buildpack = z.strictObject({
  url: z
    .string()
    .regex(/\S/, "This is empty: say where the buildpack is, or its shorthand name.")
    .describe("Where the buildpack is, or the shorthand name of an official one"),
});

const script = z.union(
  [z.strictObject({ command: z.string(), size: z.string().optional() }), z.string()],
  EITHER,
);

const keys = z.strictObject({
  name: z
    .string()
    .refine((name) => [...name].length <= MOST_NAME_CHARACTERS, {
      error: `A name has at most ${MOST_NAME_CHARACTERS} characters.`,
    })
    .meta({ description: "The template's name", maxLength: MOST_NAME_CHARACTERS })
    .optional(),
  description: z.string().describe("A short summary").optional(),
  keywords: z.array(z.string()).describe("Words that describe the app").optional(),
  website: z.string().describe("The project's website").optional(),
  repository: z.string().describe("Where the source is").optional(),
  logo: z.string().describe("The address of a square image: SVG, PNG or JPG").optional(),
  success_url: z
    .string()
    .describe("Where people go after the deploy: an address, or a path of the app")
    .optional(),
  stack: z.string().describe("The stack to run on; the default one unless given").optional(),
  image: z.string().meta({ description: "Deprecated", deprecated: true }).optional(),
  env: z
    .record(
      z.string().regex(VARIABLE_NAME, "A config var's name cannot be empty, nor hold = or NUL: rename it."),
      z.union([variable, z.string()], EITHER),
    )
    .optional(),
  formation: z.record(z.string(), process).optional(),
  addons: z.array(z.union([addon, plan], EITHER)).optional(),
  buildpacks: z.array(buildpack).optional(),
  scripts: z.strictObject({ postdeploy: script.optional(), "pr-predestroy": script.optional() }).optional(),
});

const manifestSchema = keys.extend({
  /** Where an editor finds a schema. The platform has no use for it. */
  $schema: z.unknown().optional(),
  environments: z.strictObject({ test: keys.optional(), review: keys.optional() }).optional(),
});

/** The same as JSON Schema, for editors. It flags the keys that the platform does not know, as a mistyped one is. */
export function manifestJsonSchema(): object {
  return { title: "app.json: the app manifest", ...z.toJSONSchema(manifestSchema, { io: "input" }) };
}

export type Manifest = z.infer<typeof manifestSchema>;
export type EnvironmentName = keyof NonNullable<Manifest["environments"]>;

/**
 * The manifest from which the platform makes an app. Each key of the environment replaces the whole key of the
 * manifest, even if it is empty (platform document, "`environments` rule"). Everything else stays as written, string
 * and object forms and unknown keys; `environments` and the editor's `$schema` are removed.
 */
export function effectiveManifest(manifest: Manifest, environment?: EnvironmentName): z.infer<typeof keys> {
  const own = environment && manifest.environments?.[environment];
  const { $schema: _schema, environments: _environments, ...app }: Manifest = { ...manifest, ...own };
  return app;
}
