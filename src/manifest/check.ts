import { z } from "zod";
import { messageOf } from "../errors.ts";
import { isJsonObject } from "../values.ts";
import { advice, type Path } from "./advice.ts";
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

interface Finding {
  path: Path;
  message: string;
}

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

/** The same for a text, which may begin with a byte order mark. */
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
