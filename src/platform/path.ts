import { KitError } from "../errors.ts";

declare const encoded: unique symbol;

/** A path on the platform's API whose variable parts are percent-encoded. Only `path` and `rawPath` make one. */
export type Path = string & { readonly [encoded]: true };

/** A path that would lead elsewhere than its template says. */
export class InvalidPath extends KitError {
  constructor(reason: string) {
    super("invalid_path", `Not a path on the platform's API: ${reason}`);
  }
}

/** A call for another resource than the one whose token would be sent. */
export class ForeignResource extends KitError {
  constructor(asked: string, own: string) {
    super("foreign_resource", `/addons/${asked} is not the resource of this client, which is ${own}`);
  }
}

/**
 * Percent-encodes what is put into a path: path`/apps/${app}/log-drains/${drain}`, where the drain may be an address.
 * Refuses segments that are empty, "." or "..", with which an id would choose another endpoint.
 */
export function path(parts: TemplateStringsArray, ...values: string[]): Path {
  const whole = parts.reduce((start, part, index) => start + encodeSegment(values[index - 1] ?? "") + part);
  const bad = whole
    .slice(1)
    .split("/")
    .find((segment) => ["", ".", ".."].includes(segment));
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

/**
 * A path that a person typed, if it stays on the API and with this client's own resource; throws `InvalidPath` or
 * `ForeignResource` otherwise. It is checked both as written and decoded, because a server may route on either.
 */
export function rawPath(typed: string, { apiUrl, uuid }: { apiUrl: string; uuid: string }): Path {
  const [written = ""] = typed.split("?");
  if (!/^\/[^/]/.test(written) || written.includes("//"))
    throw new InvalidPath("it starts with one slash, has something behind it, and no two in a row");
  const segments = decodedSegments(written);
  // The URL parser resolves dots, backslashes and stray characters; it must find nothing to change.
  const url = URL.canParse(apiUrl + typed) ? new URL(apiUrl + typed) : null;
  const isAsWritten = url?.hash === "" && url.href === baseAddress(new URL(apiUrl).href) + typed;
  if (!isAsWritten || segments.includes(".") || segments.includes(".."))
    throw new InvalidPath("it has no dot segments, no #, and everything unusual is percent-encoded");
  const [area = "", asked = ""] = segments.filter(Boolean);
  const isAboutAResource = area.toLowerCase() === "addons" && asked !== "";
  if (isAboutAResource && asked.toLowerCase() !== uuid.toLowerCase()) throw new ForeignResource(asked, uuid);
  return typed as Path;
}

function decodedSegments(written: string): string[] {
  try {
    return decodeURIComponent(written).split("/");
  } catch {
    throw new InvalidPath("a percent sign is not followed by two hex digits");
  }
}
