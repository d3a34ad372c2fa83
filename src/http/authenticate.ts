import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import type { Secret } from "../secret.ts";
import { createRefusals } from "./refusals.ts";
import { nowAuthenticated } from "./requests.ts";

type Door = "platform" | "operator" | "metrics";
type Login = readonly [user: string, password: Secret | undefined];

/**
 * Guards that check a password; null where none is set. The operator may see the metrics too. `release` answers all whose
 * refusal is held back.
 */
export function guardsOf({ config, metrics, pace }: Pick<Context, "config" | "metrics" | "pace">) {
  const { addonId, addonPassword, addonPasswordPrevious, operatorPassword, metricsPassword } = config;
  const operator: Login = ["operator", operatorPassword];
  const refusals = createRefusals(pace);
  const guard = (door: Door, ...logins: Login[]) => {
    const rights = logins.flatMap(([user, password]) => (password ? `${user}:${password.reveal()}` : []));
    const refused = () => metrics.wrongPassword(door);
    return rights.length > 0 ? authenticate(door, oneOf(rights), { ...refusals, refused }) : null;
  };
  return {
    platform: guard("platform", [addonId, addonPassword], [addonId, addonPasswordPrevious])!,
    operator: guard("operator", operator),
    metrics: guard("metrics", ["metrics", metricsPassword], operator),
    release: refusals.release,
  };
}

/**
 * HTTP Basic guard, which comes before the body is read and the uuid is looked up. Each refusal looks the same (assumed,
 * section 1); the more wrong passwords came from one source, the later it goes out.
 */
function authenticate(
  door: Door,
  isRight: (given: Buffer) => boolean,
  { hold, refused }: { hold(request: Request, response: Response): Promise<void>; refused(): void },
): RequestHandler {
  return (request, response, next) => {
    const given = credentialsIn(request);
    if (given && isRight(given)) {
      nowAuthenticated(response);
      return next();
    }
    response.setHeader("WWW-Authenticate", `Basic realm="${door}"`);
    // The body of a refused request is not read, so the connection cannot be used again.
    response.setHeader("Connection", "close");
    const message = "Send the right user name and password with HTTP Basic authentication.";
    const refuse = () => next(new Refusal(message, { id: "unauthorized", status: 401 }));
    // A request without a password has no wrong one.
    if (request.headers.authorization === undefined) return refuse();
    refused();
    void hold(request, response).then(refuse);
  };
}

/** Compares hashes of a fixed length, always with all candidates, so that the time taken reveals nothing. */
function oneOf(candidates: readonly string[]): (given: Buffer) => boolean {
  const hashOf = (bytes: Buffer | string) => hash("sha256", bytes, "buffer");
  const hashes = candidates.map(hashOf);
  return (given) => {
    const givenHash = hashOf(given);
    return hashes.map((each) => timingSafeEqual(each, givenHash)).includes(true);
  };
}

/** Null unless there is exactly one header, strictly as in RFC 7617. */
function credentialsIn({ headersDistinct: { authorization = [] } }: IncomingMessage): Buffer | null {
  const [, base64] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization[0] ?? "") ?? [];
  if (!base64 || authorization.length > 1) return null;
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? bytes : null;
}
