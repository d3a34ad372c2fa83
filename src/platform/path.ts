import { KitError } from "../errors.ts";

declare const encoded: unique symbol;

/** A path on the platform's API whose variable parts are percent-encoded. Only the tag `path` makes one. */
export type Path = string & { readonly [encoded]: true };

/** A path that would lead elsewhere than its template says. */
export class InvalidPath extends KitError {
  constructor(reason: string) {
    super("invalid_path", `Not a path on the platform's API: ${reason}`);
  }
}

/**
 * Percent-encodes what is put into a path: path`/apps/${app}/log-drains/${drain}`, where the drain may be an address.
 * Refuses segments that are empty, "." or "..", with which an id would choose another endpoint.
 */
export function path(parts: TemplateStringsArray, ...values: string[]): Path {
  const whole = parts.reduce((start, part, index) => start + encodeSegment(values[index - 1] ?? "") + part);
  const segments = whole.split("/").slice(1);
  const bad = segments.find((segment) => ["", ".", ".."].includes(segment));
  if (bad !== undefined) throw new InvalidPath(`${parts.join("…")} with the segment "${bad}"`);
  return whole as Path;
}

function encodeSegment(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    throw new InvalidPath("half a character cannot be encoded");
  }
}

/** An address of the platform that paths can be put behind: without a slash at its end. */
export function baseAddress(url: string): string {
  return url.replace(/\/+$/, "");
}
