import type { Secret } from "../secret.ts";
import type { Http, HttpAnswer } from "./http.ts";
import { TransportError } from "./http-errors.ts";
import type { Path } from "./path.ts";
import type { Clock, Throttle } from "./throttle.ts";
import { isAnswer, nextStep, type Outcome } from "./try-again.ts";

/** Where a client gets the access token of its one resource from. */
export interface TokenSource {
  current(): Promise<Secret>;
  /** A newer token than the rejected one; many callers at once cause one refresh. Rejects if none can be had. */
  renew(rejected: Secret): Promise<Secret>;
}

export interface Call {
  method: string;
  path: Path;
  headers?: Record<string, string>;
  body?: string;
}

/** Resolves with the answer of the last try, of any status, and the token that was sent with it. */
export type Caller = (call: Call) => Promise<{ answer: HttpAnswer; token: Secret }>;

export interface CallerNeeds {
  http: Http;
  /** Without a slash at its end. */
  apiUrl: string;
  /** The `Accept` header, which selects the version (platform document, "Versioning"). */
  mediaType: string;
  tokens: TokenSource;
  throttle: Throttle;
  sleep: Clock["sleep"];
  random: () => number;
}

/**
 * Makes calls with one resource's token, each when the throttle allows it, and tries again as `try-again.ts` decides.
 */
export function createCaller({
  http,
  apiUrl,
  mediaType,
  tokens,
  throttle,
  sleep,
  random,
}: CallerNeeds): Caller {
  function send({ path, headers, ...call }: Call, token: Secret): Promise<HttpAnswer> {
    const contentType = call.body !== undefined && { "content-type": "application/json" };
    const authorization = `Bearer ${token.reveal()}`;
    const all = { accept: mediaType, ...contentType, ...headers, authorization };
    return http.send({ ...call, url: apiUrl + path, headers: all });
  }

  function outcomeOf(call: Call, token: Secret): Promise<Outcome> {
    return throttle.inTurn(() => send(call, token)).catch(transportErrorOf);
  }

  return async function tried(call) {
    const past = { waits: 0, hasRenewed: false };
    let token = await tokens.current();
    for (;;) {
      const outcome = await outcomeOf(call, token);
      const next = nextStep(call.method, outcome, past, random);
      if (next.step === "renew") {
        token = await tokens.renew(token);
        past.hasRenewed = true;
      } else if (next.step === "wait") {
        past.waits += 1;
        await sleep(next.waitMs);
        token = await tokens.current();
      } else if (isAnswer(outcome)) {
        return { answer: outcome, token };
      } else {
        throw outcome;
      }
    }
  };
}

function transportErrorOf(error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  throw error;
}
