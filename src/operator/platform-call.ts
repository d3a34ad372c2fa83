import { ForeignResource } from "../platform/raw-path.ts";
import { InvalidPath } from "../platform/path.ts";
import { parsedJson } from "../platform/json-object.ts";
import type { PlatformFor } from "../resources/platform-for.ts";
import { typedUuid, UsedWrongly } from "./errors.ts";

/** What the platform answered; `body` is parsed where it is JSON. */
export interface PlatformAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: unknown;
}

export interface PlatformCall {
  method: string;
  path: string;
  /** The resource whose token is sent. */
  uuid: string;
  /** A JSON text. */
  data?: string | undefined;
}

/** Any call to the platform's API with one resource's token. A refusal is an answer too. Throws {@link UsedWrongly}. */
export async function callPlatform(
  platformFor: PlatformFor,
  { method, path, uuid, data }: PlatformCall,
): Promise<PlatformAnswer> {
  if (!/^[A-Za-z]+$/.test(method)) throw new UsedWrongly(`"${method}" is not an HTTP method.`);
  if (data !== undefined && !isJson(data)) throw new UsedWrongly("The data is not JSON.");
  const platform = platformFor(typedUuid(uuid));
  try {
    const request = data === undefined ? {} : { body: data };
    const { status, headers, body } = await platform.request(method, path, request);
    const told = Object.entries(headers).filter(
      (header): header is [string, string | string[]] => !!header[1],
    );
    return { status, headers: Object.fromEntries(told), body: readBody(body) };
  } catch (error) {
    if (error instanceof InvalidPath || error instanceof ForeignResource)
      throw new UsedWrongly(error.message);
    throw error;
  }
}

function readBody(text: string): unknown {
  if (text === "") return null;
  const json = parsedJson(text);
  return json === undefined ? text : json;
}

function isJson(text: string): boolean {
  return parsedJson(text) !== undefined;
}
