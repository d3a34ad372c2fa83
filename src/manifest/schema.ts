import { z } from "zod";

// The app manifest as the platform's document describes it (Resources, "App manifest"). The types below and the check
// derive from this schema. An unknown key is no error, and mere advice is not here either (check.ts).

const MOST_NAME_CHARACTERS = 30;
/** Some authors append command-line flags to the plan. They do no harm. */
const PLAN = /^[^\s:]+(:[^\s:]+)?( +--\S.*)?$/;
/** A name that an environment variable can have: not empty, and without = and NUL. */
const VARIABLE_NAME = /^[^=\0]+$/;

const plan = z.string().regex(PLAN, "An add-on is named as addon or addon:plan, without spaces.");

const variable = z.object({
  description: z.string().optional(),
  value: z.string().optional(),
  required: z.boolean().optional(),
  generator: z.literal("secret").optional(),
});

const process = z.object({ quantity: z.int().min(0).optional(), size: z.string().optional() });

const addon = z.object({
  plan,
  as: z.string().optional(),
  options: z.record(z.string(), z.unknown()).optional(),
});

const addons = z.array(z.union([addon, plan])).superRefine((all, { addIssue }) => {
  const taken = new Set<string>();
  for (const [index, each] of all.entries()) {
    // As the platform writes it; empty for the default name.
    const name = typeof each === "string" ? "" : (each.as ?? "").trim().toUpperCase();
    const message = "Another add-on has this name already: give each attachment its own.";
    if (name !== "" && taken.has(name)) addIssue({ code: "custom", path: [index, "as"], message });
    taken.add(name);
  }
});

const buildpack = z.object({
  url: z.string().regex(/\S/, "This is empty: say where the buildpack is, or its shorthand name."),
});

const script = z.union([z.object({ command: z.string(), size: z.string().optional() }), z.string()]);

const keys = z.object({
  name: z
    .string()
    .refine((name) => [...name].length <= MOST_NAME_CHARACTERS, {
      error: `A name has at most ${MOST_NAME_CHARACTERS} characters.`,
    })
    .optional(),
  description: z.string().optional(),
  keywords: z.array(z.string()).optional(),
  website: z.string().optional(),
  repository: z.string().optional(),
  logo: z.string().optional(),
  success_url: z.string().optional(),
  stack: z.string().optional(),
  image: z.string().optional(),
  env: z
    .record(
      z.string().regex(VARIABLE_NAME, "A config var's name cannot be empty, nor hold = or NUL: rename it."),
      z.union([variable, z.string()]),
    )
    .optional(),
  formation: z.record(z.string(), process).optional(),
  addons: addons.optional(),
  buildpacks: z.array(buildpack).optional(),
  scripts: z.object({ postdeploy: script.optional(), "pr-predestroy": script.optional() }).optional(),
});

export const manifestSchema = keys.extend({
  /** Where an editor finds a schema. The platform has no use for it. */
  $schema: z.unknown().optional(),
  environments: z.strictObject({ test: keys.optional(), review: keys.optional() }).optional(),
});

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
