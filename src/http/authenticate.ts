import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import type { Secret } from "../secret.ts";
import { accept, askForBody } from "./requests.ts";

/** Where a password is wanted. `realm` and `message` are those of its 401. */
interface Entrance {
  door: "platform" | "operator" | "metrics";
  realm: string;
  message: string;
  /** A user's name contains no colon; one without a password is nobody. */
  logins: readonly (readonly [user: string, password: Secret | undefined])[];
}

/** Who lets requests with a password pass; null where none is set. The operator may see the metrics too. */
export function createGuards({ config, metrics }: Pick<Context, "config" | "metrics">) {
  const { addonId, addonPassword, addonPasswordPrevious, operatorPassword, metricsPassword } = config;
  const operator = ["operator", operatorPassword] as const;
  const guard = (door: Entrance["door"], realm: string, what: string, ...logins: Entrance["logins"]) => {
    const message = `Send ${what} with HTTP Basic authentication.`;
    const isSet = logins.some(([, password]) => password);
    return isSet ? authenticate({ door, realm, message, logins }, metrics) : null;
  };
  const platform = [addonPassword, addonPasswordPrevious].map((each) => [addonId, each] as const);
  return {
    platform: guard("platform", "add-on partner", "the add-on's id and password", ...platform)!,
    operator: guard("operator", "operator", "the user operator and OPERATOR_PASSWORD", operator),
    metrics: guard(
      ...(["metrics", "metrics", "the user metrics and METRICS_PASSWORD"] as const),
      ...([["metrics", metricsPassword], operator] as const),
    ),
  };
}

/**
 * HTTP Basic guard, which comes before the body is read and the uuid is looked up. Each refusal looks the same (assumed,
 * section 1).
 */
export function authenticate(
  { door, realm, message, logins }: Entrance,
  metrics: Pick<Context["metrics"], "wrongPassword">,
): RequestHandler {
  const rights = logins.flatMap(([user, password]) => (password ? `${user}:${password.reveal()}` : []));
  const isRight = oneOf(rights);
  return (request, response, next) => {
    const given = credentialsIn(request);
    if (given && isRight(given)) {
      accept(request);
      askForBody(request, response);
      return next();
    }
    response.setHeader("WWW-Authenticate", `Basic realm="${realm}"`);
    // The body of a refused request is not read, so the connection cannot be used again.
    response.setHeader("Connection", "close");
    if (request.headers.authorization !== undefined) metrics.wrongPassword(door);
    next(new Refusal(message, { id: "unauthorized", status: 401 }));
  };
}

/** Compares keyed hashes of a fixed length, always with all candidates, so that the time taken reveals nothing. */
function oneOf(candidates: readonly string[]): (given: Buffer) => boolean {
  const key = randomBytes(32);
  const hash = (bytes: Buffer | string) => createHmac("sha256", key).update(bytes).digest();
  const hashes = candidates.map(hash);
  return (given) => {
    const givenHash = hash(given);
    return hashes.map((each) => timingSafeEqual(each, givenHash)).includes(true);
  };
}

/** Null unless there is exactly one header, strictly as in RFC 7617: of two, Node silently keeps the first. */
function credentialsIn({ headers, rawHeaders }: IncomingMessage): Buffer | null {
  const [, base64] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(headers.authorization ?? "") ?? [];
  if (!base64 || base64.length % 4 !== 0) return null;
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === "authorization") found += 1;
  const bytes = Buffer.from(base64, "base64");
  return found === 1 && bytes.toString("base64") === base64 ? bytes : null;
}
