import { KitError } from "../errors.ts";
import { InvalidPath, type Path } from "./path.ts";

/** A call for another resource than the one whose token would be sent. */
export class ForeignResource extends KitError {
  constructor(asked: string, own: string) {
    super("foreign_resource", `/addons/${asked} is not the resource of this client, which is ${own}`);
  }
}

/**
 * A path that a person typed, if it stays on the API and with this client's own resource; throws `InvalidPath` or
 * `ForeignResource` otherwise. It is checked both as written and decoded, because a server may route on either.
 */
export function rawPath(typed: string, { apiUrl, uuid }: { apiUrl: string; uuid: string }): Path {
  const [written = ""] = typed.split("?");
  if (!/^\/[^/]/.test(written) || written.includes("//"))
    throw new InvalidPath("it starts with one slash, has something behind it, and no two in a row");
  if (!staysAsWritten(typed, apiUrl))
    throw new InvalidPath("it has no dot segments, no #, and everything unusual is percent-encoded");
  const [area = "", asked = ""] = decodedSegments(written).filter(Boolean);
  const isAboutAResource = area.toLowerCase() === "addons" && asked !== "";
  if (isAboutAResource && asked.toLowerCase() !== uuid.toLowerCase()) throw new ForeignResource(asked, uuid);
  return typed as Path;
}

/** Whether the URL parser, which resolves dots, backslashes and stray characters, finds nothing to change. */
function staysAsWritten(typed: string, apiUrl: string): boolean {
  const url = URL.canParse(apiUrl + typed) ? new URL(apiUrl + typed) : undefined;
  return url?.hash === "" && url.href === new URL(apiUrl).href.replace(/\/$/, "") + typed;
}

function decodedSegments(written: string): string[] {
  try {
    const segments = decodeURIComponent(written).split("/").slice(1);
    if (segments.includes(".") || segments.includes("..")) throw new InvalidPath("no dot segments");
    return segments;
  } catch (error) {
    throw error instanceof InvalidPath
      ? error
      : new InvalidPath("a percent sign is not followed by two hex digits");
  }
}
