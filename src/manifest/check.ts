import { isUtf8 } from "node:buffer";
import { advice } from "./advice.ts";
import { brokenRules } from "./broken-rules.ts";
import { warning, type Finding, type Path, type Severity } from "./finding.ts";
import { NotJson, readJson, type Place } from "./json-text.ts";
import type { Manifest } from "./schema.ts";
import { unknownKeys } from "./unknown-keys.ts";

/** An error or a warning. The pointer (RFC 6901) of a missing member says where it would be. */
export interface Fault {
  pointer: string;
  severity: Severity;
  message: string;
  /** Its place in the text, if there was a text; for a member, the place of its key. */
  place?: Place;
}

export interface ManifestReport {
  /** No rule is broken; there may be warnings. */
  ok: boolean;
  /** Sorted by place, if a text was checked. */
  faults: readonly Fault[];
  /** Only if `ok`: the manifest as it was given, unknown keys included. */
  manifest?: Manifest;
}

/** More faults than anybody reads. The limit bounds the size of a report on a hostile text. */
const MOST_FAULTS = 1000;

/** Finds all faults of a manifest (platform document, Resources, "App manifest"). */
export function checkManifest(value: unknown): ManifestReport {
  return report(findings(value).map(faultOf), value);
}

/** The same for a text, with the place of each fault, and with the faults that only a text can have. */
export function checkManifestText(bytes: Uint8Array | string): ManifestReport {
  if (typeof bytes !== "string" && !isUtf8(bytes)) return refused("Not JSON: this is no text in UTF-8.");
  try {
    return checkText(typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8"));
  } catch (error) {
    if (error instanceof NotJson) return refused(error.message, error.place);
    if (error instanceof RangeError) return refused("This is nested deeper than any manifest.");
    throw error;
  }
}

const BYTE_ORDER_MARK = "\u{feff}";

function checkText(text: string): ManifestReport {
  const hasMark = text.startsWith(BYTE_ORDER_MARK);
  const { value, repeated, indexOf, placeAt } = readJson(hasMark ? text.slice(1) : text);
  const all = [
    ...(hasMark ? [warning([], "The file begins with a byte order mark: save it without.")] : []),
    ...repeated
      .slice(0, MOST_FAULTS)
      .map((path) => warning(path, "This key is there more than once: only the last one counts.")),
    ...findings(value),
  ];
  const sorted = all
    .map((finding) => ({ finding, at: indexOf(finding.path) }))
    .sort((one, other) => one.at - other.at);
  const faults = sorted.map(({ finding, at }) => ({ ...faultOf(finding), place: placeAt(at) }));
  return report(faults, value);
}

function findings(value: unknown): Finding[] {
  const broken = brokenRules(value);
  const sound = soundPart(
    value,
    broken.map(({ path }) => path),
  );
  return [...broken, ...unknownKeys(value), ...advice(sound)].slice(0, MOST_FAULTS);
}

function faultOf({ path, severity, message }: Finding): Fault {
  const steps = path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`);
  return { pointer: steps.join(""), severity, message };
}

function report(faults: readonly Fault[], value: unknown): ManifestReport {
  const ok = !faults.some(({ severity }) => severity === "error");
  return { ok, faults, ...(ok && { manifest: value as Manifest }) };
}

function refused(message: string, place?: Place): ManifestReport {
  return { ok: false, faults: [{ pointer: "", severity: "error", message, ...(place && { place }) }] };
}

/**
 * A manifest without the entries that break a rule (a variable, an add-on, a script …), so that advice can be given on
 * the rest, which conforms to its type. Elements keep their index, so an array may have gaps.
 */
function soundPart(value: unknown, broken: readonly Path[]): Manifest {
  if (broken.some((path) => path.length === 0)) return {};
  const rest = structuredClone(value) as Manifest;
  for (const path of broken) {
    const entry = path.slice(0, path[0] === "environments" ? 4 : 2);
    const holder = entry
      .slice(0, -1)
      .reduce<unknown>((at, step) => (Object(at) as Record<PropertyKey, unknown>)[step], rest);
    if (typeof holder === "object" && holder !== null) Reflect.deleteProperty(holder, entry.at(-1)!);
  }
  return rest;
}
