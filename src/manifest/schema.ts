import { z } from "zod";

// The app manifest as the platform's document describes it (Resources, "App manifest"). The types below, the check and
// the published JSON Schema all derive from this schema. An unknown key is no error, and mere advice is not here either
// (advice.ts). In a union the object form comes first, because editors suggest the first form.

const MOST_NAME_CHARACTERS = 30;
/** Some authors append command-line flags to the plan. They do no harm; advice.ts says where they belong. */
const PLAN = /^[^\s:]+(:[^\s:]+)?( +--\S.*)?$/;
/** A name that an environment variable can have: not empty, and without = and NUL. */
const VARIABLE_NAME = /^[^=\0]+$/;

const plan = z.string().regex(PLAN, "An add-on is named as addon or addon:plan, without spaces.");

const variable = z
  .object({
    description: z
      .string()
      .optional()
      .describe("What the variable is for, for the person who is asked for it."),
    value: z.string().optional().describe('The default value. Always a string, so 5 is written "5".'),
    required: z
      .boolean()
      .optional()
      .meta({ description: "Whether the app cannot be created without a value.", default: true }),
    generator: z.literal("secret").optional().describe('"secret": the platform makes up a random string.'),
  })
  .meta({ id: "variable", description: "A config var: what it is for, and where its value comes from." });

const process = z
  .object({
    quantity: z.int().min(0).optional().describe("How many processes of this type to keep."),
    size: z.string().optional().describe("The dyno size. Left out, the runtime's default size applies."),
  })
  .meta({ id: "process", description: "How many processes of a type to keep, and how big." });

const addon = z
  .object({
    plan: plan.describe(
      "addon:plan, or addon alone for its default plan. Review and CI apps get an ephemeral default plan instead.",
    ),
    as: z.string().optional().describe("The attachment's name. Left out, the add-on's default name."),
    options: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("The add-on's own options: strings, or true for an option that takes no value."),
  })
  .meta({ id: "addon", description: "An add-on that is provisioned before the app is deployed." });

const addons = z
  .array(z.union([addon, plan]))
  .superRefine((all, { addIssue }) => {
    const taken = new Set<string>();
    for (const [index, each] of all.entries()) {
      // As the platform writes it; empty for the default name.
      const name = typeof each === "string" ? "" : (each.as ?? "").trim().toUpperCase();
      const message = "Another add-on has this name already: give each attachment its own.";
      if (name !== "" && taken.has(name)) addIssue({ code: "custom", path: [index, "as"], message });
      taken.add(name);
    }
  })
  .optional()
  .meta({ id: "addons", description: "The add-ons the app needs; the object form is preferred." });

const buildpack = z
  .object({
    url: z
      .string()
      .regex(/\S/, "This is empty: say where the buildpack is, or its shorthand name.")
      .describe("Where to download or clone it, or the shorthand name of an officially supported one."),
  })
  .meta({ id: "buildpack", description: "A buildpack. The last one decides the process types." });

const script = z
  .union([
    z.object({
      command: z.string().describe("The command to run."),
      size: z.string().optional().describe("The size of the dyno that runs it."),
    }),
    z.string(),
  ])
  .meta({ id: "script", description: "A command, or a command with the size of the dyno that runs it." });

const keys = z.object({
  name: z
    .string()
    .refine((name) => [...name].length <= MOST_NAME_CHARACTERS, {
      error: `A name has at most ${MOST_NAME_CHARACTERS} characters.`,
    })
    .optional()
    .meta({ description: "A simple name of the template.", maxLength: MOST_NAME_CHARACTERS }),
  description: z.string().optional().describe("A short summary of the app."),
  keywords: z.array(z.string()).optional().describe("Words that describe the app."),
  website: z.string().optional().describe("The project's website."),
  repository: z.string().optional().describe("Where the source is: a Git, Subversion or Mercurial URL."),
  logo: z.string().optional().describe("The URL of a square image, as SVG, PNG or JPG."),
  success_url: z
    .string()
    .optional()
    .describe(
      "Where the user goes after the deploy: a full URL, or a path of the new app that begins with /.",
    ),
  stack: z.string().optional().describe("The stack to run on. Left out, the default stack."),
  image: z
    .string()
    .optional()
    .meta({ description: "Deprecated. The image that local containers are made from.", deprecated: true }),
  env: z
    .record(
      z.string().regex(VARIABLE_NAME, "A config var's name cannot be empty, nor hold = or NUL: rename it."),
      z.union([variable, z.string()]),
    )
    .optional()
    .meta({ id: "env", description: "The config vars: a name, and a value or what to know about it." }),
  formation: z
    .record(z.string(), process)
    .optional()
    .meta({ id: "formation", description: "The processes to keep, by process type. Dynos are billed." }),
  addons,
  buildpacks: z.array(buildpack).optional().meta({
    id: "buildpacks",
    description: "For apps of the older generation; newer ones name their buildpacks in project.toml.",
  }),
  scripts: z
    .object({
      postdeploy: script.optional().describe("Runs once, after the app is created; not on later deploys."),
      "pr-predestroy": script
        .optional()
        .describe("Runs when a review app is destroyed because its pull request was merged or closed."),
    })
    .optional()
    .meta({ id: "scripts", description: "Commands of the app's life. The dynos that run them are billed." }),
});

const environment = keys.meta({
  id: "environment",
  description: "Keys of a manifest. Each replaces the whole of the app's own key: nothing is merged.",
});

export const manifestSchema = keys
  .extend({
    $schema: z
      .unknown()
      .optional()
      .describe("Where an editor finds this schema. The platform has no use for it."),
    environments: z
      .strictObject({
        test: environment.optional().describe("For apps that CI makes."),
        review: environment.optional().describe("For review apps."),
      })
      .optional()
      .describe("What is different in CI apps and review apps."),
  })
  .meta({
    title: "App manifest",
    description:
      "app.json: what the platform makes a new app of. It is read when an app is created, not on deploys.",
  });

/** An app.json without broken rules. */
export type Manifest = z.infer<typeof manifestSchema>;
/** The keys of an app, which are also those that an environment may replace. */
export type ManifestKeys = z.infer<typeof keys>;
/** The environments that exist. */
export type EnvironmentName = keyof NonNullable<Manifest["environments"]>;

/**
 * The manifest from which the platform makes an app. Each key of the environment replaces the whole key of the
 * manifest, even if it is empty (platform document, "`environments` rule"). Everything else stays as written, string
 * and object forms and unknown keys; `environments` and the editor's `$schema` are removed.
 */
export function effectiveManifest(manifest: Manifest, environment?: EnvironmentName): ManifestKeys {
  const own = environment && manifest.environments?.[environment];
  const { $schema: _schema, environments: _environments, ...app }: Manifest = { ...manifest, ...own };
  return app;
}

/**
 * The rules as a JSON Schema that editors understand (draft 7). It accepts exactly what the check accepts, except that
 * it cannot detect two add-ons with the same attachment name.
 */
export function manifestJsonSchema(): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(manifestSchema, {
    target: "draft-7",
    io: "input",
    override({ jsonSchema }) {
      const { propertyNames } = jsonSchema;
      // That the names of members are strings goes without saying.
      if (typeof propertyNames === "object" && propertyNames.pattern === undefined)
        delete jsonSchema.propertyNames;
    },
  });
}
