import { parsedJson } from "../json-object.ts";
import { PlatformRefused, UnreadableAnswer } from "./errors.ts";
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
  /** What is sent as a secret, and masked wherever the platform repeats it. */
  secrets?: readonly string[];
  /** The value in the JSON of an answer; null: it is not what was asked for. */
  read(json: unknown): T | null;
  /** Completes "… answered 200, but not with". */
  expected: string;
}

/** Asks the platform without a retry. Rejects with `PlatformRefused`, `UnreadableAnswer` or a `TransportError`. */
export async function askOnce<T>(http: Http, question: Question<T>): Promise<T> {
  const { secrets = [], read, expected, ...request } = question;
  const answer = await http.send(request);
  const call = { method: request.method, url: new URL(request.url) };
  if (answer.status >= 400) throw new PlatformRefused(call, answer, secrets);
  const value = answer.status < 300 ? read(parsedJson(answer.body)) : null;
  if (value === null) throw new UnreadableAnswer(call, answer.status, expected);
  return value;
}
