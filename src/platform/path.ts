import { KitError } from "../errors.ts";

declare const encoded: unique symbol;

/** A path on the platform's API whose variable parts are percent-encoded. Only `path` and `rawPath` make one. */
export type Path = string & { readonly [encoded]: true };

const invalid = (reason: string) =>
  new KitError("invalid_path", `Not a path on the platform's API: ${reason}`);

const words = new Set<string>();

/** Whether a segment is a word of a path that was called, such as `log-drains`, and no id or name. */
export const isWordOfPath = (segment: string): boolean => words.has(segment);

/**
 * Percent-encodes what is put into a path: path`/apps/${app}/log-drains/${drain}`, where the drain may be an address.
 * Refuses segments that are empty, "." or "..", with which an id would choose another endpoint.
 */
export function path(parts: TemplateStringsArray, ...values: string[]): Path {
  // Half a character becomes the character that stands for an unreadable one.
  const encode = (value = "") => encodeURIComponent(value.toWellFormed());
  const whole = parts.reduce((start, part, index) => start + encode(values[index - 1]) + part);
  const bad = whole
    .slice(1)
    .split("/")
    .find((segment) => ["", ".", ".."].includes(segment));
  if (bad !== undefined) throw invalid(`${parts.join("…")} with the segment "${bad}"`);
  for (const part of parts) for (const word of part.split("/")) if (word !== "") words.add(word);
  return whole as Path;
}

/**
 * A path that a person typed, if it stays on the API and with this client's own resource. It is checked both as written
 * and decoded, because a server may route on either.
 */
export function rawPath(typed: string, apiUrl: string, uuid: string): Path {
  const [written = ""] = typed.split("?");
  const segments = decodedSegments(written);
  // The URL parser resolves dots, backslashes and stray characters; it must find nothing to change.
  const url = URL.canParse(apiUrl + typed) ? new URL(apiUrl + typed) : null;
  const isAsWritten = url?.hash === "" && url.href === new URL(apiUrl).href.replace(/\/+$/, "") + typed;
  if (!/^(\/[^/]+)+\/?$/.test(written) || !isAsWritten || segments.some((each) => /^\.\.?$/.test(each)))
    throw invalid(
      "it starts with one slash, has no two in a row, no dot segments and no #, and everything unusual is percent-encoded",
    );
  const [area = "", named = ""] = segments.filter(Boolean);
  const isAboutAResource = area.toLowerCase() === "addons" && named !== "";
  // Its token would be sent along.
  if (isAboutAResource && named.toLowerCase() !== uuid.toLowerCase())
    throw new KitError(
      "foreign_resource",
      `/addons/${named} is not the resource of this client, which is ${uuid}`,
    );
  return typed as Path;
}

function decodedSegments(written: string): string[] {
  try {
    return decodeURIComponent(written).split("/");
  } catch {
    throw invalid("a percent sign is not followed by two hex digits");
  }
}
