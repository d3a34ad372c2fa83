import { isUtf8 } from "node:buffer";
import { findNodeAtLocation, parseTree, printParseErrorCode, type Node, type ParseError } from "jsonc-parser";
import { z } from "zod";
import { isJsonObject } from "../json-object.ts";
import { advice, type Path } from "./advice.ts";
import { manifestSchema, type Manifest } from "./schema.ts";

/**
 * An error breaks a rule of the platform's document; a warning is worth a person's attention. The message is a sentence
 * that never repeats a value of the manifest.
 */
export interface Fault {
  /** RFC 6901; that of a missing member says where it would be. */
  pointer: string;
  severity: "error" | "warning";
  message: string;
  /** If a text was checked, where the value, or the key of the member, begins; both count from 1. */
  place?: { line: number; column: number };
}

export interface ManifestReport {
  /** No rule is broken; there may be warnings. */
  ok: boolean;
  /** Sorted by place, if a text was checked. */
  faults: readonly Fault[];
  /** Only if `ok`: the manifest as it was given, unknown keys included. */
  manifest?: Manifest;
}

interface Finding extends Pick<Fault, "severity" | "message"> {
  path: Path;
}

/** More faults than anybody reads. The limit bounds the size of a report on a hostile text. */
const MOST_FAULTS = 1_000;

/** Finds all faults of a manifest (platform document, Resources, "App manifest"). */
export function checkManifest(value: unknown): ManifestReport {
  return report(findings(value).map(faultOf), value);
}

/** The same for a text, with the place of each fault. */
export function checkManifestText(bytes: Uint8Array | string): ManifestReport {
  if (typeof bytes !== "string" && !isUtf8(bytes)) return refused("Not JSON: this is no text in UTF-8.");
  try {
    // A byte order mark in front is no part of the text.
    return checkText(
      Buffer.from(bytes)
        .toString("utf8")
        .replace(/^\u{feff}/u, ""),
    );
  } catch (error) {
    if (error instanceof RangeError) return refused("This is nested deeper than any manifest.");
    if (error instanceof SyntaxError) return refused("Not JSON.");
    throw error;
  }
}

function checkText(text: string): ManifestReport {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true });
  const [wrong] = errors;
  if (!tree || wrong) {
    const place = placeOf(text, wrong?.offset ?? 0);
    const why = wrong ? printParseErrorCode(wrong.error).replace(/\B[A-Z]/g, " $&") : "Value expected";
    const said = `${why.charAt(0)}${why.slice(1).toLowerCase()}`;
    return refused(`Not JSON, at line ${place.line}, column ${place.column}: ${said}.`, place);
  }
  const value: unknown = JSON.parse(text);
  const found = findings(value)
    .map((finding) => ({ finding, at: offsetOf(tree, finding.path) }))
    .sort((one, other) => one.at - other.at);
  return report(
    found.map(({ finding, at }) => ({ ...faultOf(finding), place: placeOf(text, at) })),
    value,
  );
}

/** Of a member, the offset of its key; of one that is missing, that of the innermost value on the path. */
function offsetOf(tree: Node, path: Path): number {
  const node = findNodeAtLocation(tree, [...path]);
  if (!node) return offsetOf(tree, path.slice(0, -1));
  return node.parent?.type === "property" ? node.parent.offset : node.offset;
}

function placeOf(text: string, offset: number) {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}

function findings(value: unknown): Finding[] {
  const broken = brokenRules(value);
  const isBroken = (path: Path) => broken.some((rule) => rule.path.every((step, at) => step === path[at]));
  const advised = [...unknownKeys(manifestSchema, value, []), ...advice(value)]
    .filter(({ path }) => !isBroken(path))
    .map((each): Finding => ({ ...each, severity: "warning" }));
  return [...broken, ...advised].slice(0, MOST_FAULTS);
}

function faultOf({ path, severity, message }: Finding): Fault {
  const steps = path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`);
  return { pointer: steps.join(""), severity, message };
}

function report(faults: readonly Fault[], value: unknown): ManifestReport {
  const ok = !faults.some(({ severity }) => severity === "error");
  return { ok, faults, ...(ok && { manifest: value as Manifest }) };
}

function refused(message: string, place?: Fault["place"]): ManifestReport {
  return { ok: false, faults: [{ pointer: "", severity: "error", message, ...(place && { place }) }] };
}

function brokenRules(value: unknown): Finding[] {
  return manifestSchema.safeParse(value).error?.issues.flatMap((issue) => errorsOf(issue, [])) ?? [];
}

function errorsOf(issue: z.core.$ZodIssue, above: Path): Finding[] {
  const path = [...above, ...(issue.path as Path)];
  const error = (at: Path, { message }: { message: string }): Finding => ({
    path: at,
    severity: "error",
    message,
  });
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
function unknownKeys(schema: z.core.$ZodType, value: unknown, path: Path): { path: Path; message: string }[] {
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
