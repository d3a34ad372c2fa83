import { KitError, messageOf, Misconfigured, Refusal } from "./errors.ts";

// What a customer chooses when installing the add-on. The vendor's schema says what is allowed; the options are stored as they
// came, and read by the schema each time, so that one with a new default counts for earlier customers, too.

/** The options of an install, by name. */
export type Options = Readonly<Record<string, unknown>>;

/** A schema of zod, or of another library that follows Standard Schema and its JSON Schema. */
export interface OptionsSchema<Chosen = Options> {
  readonly "~standard": {
    readonly validate: (value: unknown) => OptionsRead<Chosen> | Promise<OptionsRead<Chosen>>;
    readonly jsonSchema?: {
      readonly input: (how: { target: "draft-2020-12" }) => Readonly<Record<string, unknown>>;
    };
  };
}

type OptionsRead<Chosen> =
  { readonly value: Chosen; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The refusal that names each option that the schema does not allow; `null` if it allows them all. */
export function refusalOf(schema: OptionsSchema, options: Options): Refusal | null {
  const { issues } = read(schema, options);
  return issues ? new Refusal(sentences(issues, options), { id: "invalid_options" }) : null;
}

/** A sentence for each option that the schema does not allow; the same for all who chose alike. */
export function misfitsIn(schema: OptionsSchema, options: Options): string[] {
  const { issues = [] } = read(schema, options);
  return issues.slice(0, MOST_NAMED).map((issue) => sentence(issue, options));
}

/**
 * The options as the schema reads them. Throws a `KitError` if they do not fit it: the customer chose them under an earlier
 * schema, or was imported.
 */
export function readOptions(schema: OptionsSchema | undefined, options: Options): Options {
  if (!schema) return options;
  const result = read(schema, options);
  if (!result.issues) return result.value;
  const words = `The options of this resource do not fit the schema in src/your-service/plans.ts: ${sentences(result.issues, options)} Let the schema take them too, for example with a default.`;
  throw new KitError("options_differ", words);
}

/** As {@link readOptions}, of a resource that ends, whose options may be erased: what does not fit is left out. */
export function optionsLeft(schema: OptionsSchema | undefined, options: Options): Options {
  const result = schema ? read(schema, options) : { value: options };
  return result.issues ? {} : result.value;
}

export function faultsInOptions(schema: OptionsSchema | undefined): string[] {
  if (!schema) return [];
  const result = schema["~standard"]?.validate({});
  if (result && !(result instanceof Promise)) return [];
  return ["options must be an object of zod that needs no asynchronous steps."];
}

/** The schema as JSON Schema: names, kinds, descriptions and defaults. Throws `Misconfigured` if it has none. */
export function inJsonSchema(schema: OptionsSchema): Options {
  try {
    return schema["~standard"].jsonSchema!.input({ target: "draft-2020-12" });
  } catch (cause) {
    const words = `The options in src/your-service/plans.ts cannot be described in a manifest: ${messageOf(cause)}`;
    throw new Misconfigured(words, { cause });
  }
}

const read = (schema: OptionsSchema, options: Options) =>
  schema["~standard"].validate(options) as OptionsRead<Options>;

/** More are not named: the customer corrects these first. */
const MOST_NAMED = 5;

const sentences = (issues: readonly Issue[], options: Options): string =>
  issues
    .slice(0, MOST_NAMED)
    .map((issue) => sentence(issue, options))
    .join(" ");

function sentence({ message, path = [] }: Issue, options: Options): string {
  const [name] = path.map((step) => String(typeof step === "object" ? step.key : step));
  if (name === undefined) return `The options are wrong: ${message}.`;
  if (!Object.hasOwn(options, name)) return `The option "${name}" is missing.`;
  return `The option "${name}" is wrong: ${message}.`;
}
