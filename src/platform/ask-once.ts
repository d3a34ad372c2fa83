import { parsedJson } from "../json-object.ts";
import type { Secret } from "../secret.ts";
import { PlatformRefused, UnreadableAnswer } from "./api-errors.ts";
import type { Http, HttpRequest } from "./http.ts";

/** What every call to the API needs. */
export interface PlatformCalls {
  http: Http;
  apiUrl: string;
  /** The `Accept` header, which selects the version (platform document, "Versioning"). */
  mediaType: string;
}

/** A call, and what is made of its answer. */
interface Question<T> extends HttpRequest {
  /** Sent as bearer, and masked wherever the platform repeats it. */
  token?: Secret;
  /** The value in the JSON of an answer; undefined: it is not what was asked for. */
  read(json: unknown): T | undefined;
  /** Completes "… answered 200, but not with". */
  expected: string;
}

/** Asks the platform without a retry. Rejects with `PlatformRefused`, `UnreadableAnswer` or a `TransportError`. */
export async function askOnce<T>(http: Http, question: Question<T>): Promise<T> {
  const { token, read, expected, ...request } = question;
  const bearer = token && { authorization: `Bearer ${token.reveal()}` };
  const answer = await http.send({ ...request, headers: { ...request.headers, ...bearer } });
  const call = { method: request.method, url: new URL(request.url) };
  if (answer.status >= 400) throw new PlatformRefused(call, answer, token ? [token.reveal()] : []);
  const value = answer.status < 300 ? read(parsedJson(answer.body)) : undefined;
  if (value === undefined) throw new UnreadableAnswer(call, answer.status, expected);
  return value;
}
