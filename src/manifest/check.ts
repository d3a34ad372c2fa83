import { advice } from "./advice/advice.ts";
import { brokenRules } from "./broken-rules.ts";
import type { Finding, Severity } from "./finding.ts";
import { NotJson, readJson, type JsonText } from "./json-text.ts";
import { pointerTo } from "./path.ts";
import { placesIn, spotOf, type Place } from "./place.ts";
import type { Manifest } from "./schema.ts";
import { soundPart } from "./sound-part.ts";
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
  return report(findings(value), value);
}

/** The same for a text, with the place of each fault, and with the faults that only a text can have. */
export function checkManifestText(bytes: Uint8Array | string): ManifestReport {
  const text = typeof bytes === "string" ? bytes : decoded(bytes);
  if (text === undefined) return refused("Not JSON: this is no text in UTF-8.");
  const hasMark = text.startsWith(BYTE_ORDER_MARK);
  const json = hasMark ? text.slice(1) : text;
  const placeAt = placesIn(json);
  let read: JsonText;
  try {
    read = readJson(json);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const place = placeAt(error.at);
    return refused(`Not JSON, at line ${place.line}, column ${place.column}: ${error.message}`, place);
  }
  const all = [
    ...(hasMark ? [warning([], "The file begins with a byte order mark: save it without.")] : []),
    ...read.repeated
      .slice(0, MOST_FAULTS)
      .map((path) => warning(path, "This key is there more than once: only the last one counts.")),
    ...findings(read.value),
  ];
  const located = all.map((finding) => ({ ...finding, at: spotOf(read.spot, finding.path).at }));
  const sorted = located.sort((one, other) => one.at - other.at);
  return report(sorted, read.value, ({ at }) => ({ place: placeAt(at) }));
}

const BYTE_ORDER_MARK = "\u{feff}";

function findings(value: unknown): Finding[] {
  const broken = brokenRules(value);
  const sound = soundPart(
    value,
    broken.map(({ path }) => path),
  );
  return [...broken, ...unknownKeys(value), ...advice(sound)].slice(0, MOST_FAULTS);
}

function report<Found extends Finding>(
  found: readonly Found[],
  value: unknown,
  more: (finding: Found) => Pick<Fault, "place"> = () => ({}),
): ManifestReport {
  const ok = !found.some(({ severity }) => severity === "error");
  const faults = found.map((finding) => {
    const { path, severity, message } = finding;
    return { pointer: pointerTo(path), severity, message, ...more(finding) };
  });
  return { ok, faults, ...(ok && { manifest: value as Manifest }) };
}

function refused(message: string, place?: Place): ManifestReport {
  return { ok: false, faults: [{ pointer: "", severity: "error", message, ...(place && { place }) }] };
}

function warning(path: Finding["path"], message: string): Finding {
  return { path, severity: "warning", message };
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
