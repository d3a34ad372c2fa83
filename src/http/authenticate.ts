import { hash, timingSafeEqual } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import basicAuth from "express-basic-auth";
import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import type { Secret } from "../secret.ts";
import { createRefusals } from "./refusals.ts";
import { nowAuthenticated } from "./requests.ts";

type Door = "platform" | "operator" | "metrics";
type Login = readonly [user: string, password: Secret | undefined];

/**
 * Guards that check a password; `null` where none is set. The operator may read the metrics, too. `release` sends all
 * delayed refusals.
 */
export function guardsOf({
  config,
  metrics,
  pace,
  presence,
}: Pick<Context, "config" | "metrics" | "pace" | "presence">) {
  const { addonId, addonPassword, addonPasswordPrevious, operatorPassword, metricsPassword } = config;
  const operator: Login = ["operator", operatorPassword];
  const refusals = createRefusals(pace);
  const guard = (door: Door, ...logins: Login[]) => {
    const rights = logins.flatMap(([user, password]) => (password ? `${user}:${password.reveal()}` : []));
    const refused = (user: string | null) => {
      metrics.wrongPassword(door);
      if (door === "platform" && user === addonId) presence.called(false);
    };
    const letIn = () => door === "platform" && presence.called(true);
    return rights.length > 0 ? authenticate(door, oneOf(rights), { ...refusals, refused, letIn }) : null;
  };
  return {
    platform: guard("platform", [addonId, addonPassword], [addonId, addonPasswordPrevious])!,
    operator: guard("operator", operator),
    metrics: guard("metrics", ["metrics", metricsPassword], operator),
    release: refusals.release,
  };
}

/**
 * HTTP Basic guard, which runs before the body is read and the uuid is looked up. All refusals look the same (assumed,
 * section 1). Each further wrong password from one source is refused later than the one before.
 */
function authenticate(
  door: Door,
  isRight: (given: string) => boolean,
  {
    hold,
    refused,
    letIn,
  }: {
    hold(request: Request, response: Response): Promise<void>;
    /** `user`: null if the request names none that can be read. */
    refused(user: string | null): void;
    letIn(): void;
  },
): RequestHandler {
  let lastUser: string | null = null;
  const check = basicAuth({
    authorizer: (user: string, password: string) => {
      lastUser = user;
      return isRight(`${user}:${password}`);
    },
    challenge: true,
    realm: door,
    // Thrown, so that it gets the form of every other refusal: JSON, or a page.
    unauthorizedResponse: () => {
      throw new Refusal(SEND_PASSWORD, { id: "unauthorized", status: 401 });
    },
  });
  return (request, response, next) => {
    let isIn = false;
    lastUser = null;
    try {
      check(withStrictHeader(request), response, () => (isIn = true));
    } catch (refusal) {
      // The body of a refused request is not read, so the connection cannot be used again.
      response.setHeader("Connection", "close");
      // A request without a password is not counted as a wrong password.
      if (request.headers.authorization === undefined) return next(refusal);
      refused(lastUser);
      return void hold(request, response).then(() => next(refusal));
    }
    if (!isIn) return;
    letIn();
    nowAuthenticated(response);
    next();
  };
}

const SEND_PASSWORD = "Send the right user name and password with HTTP Basic authentication.";

/** Compares hashes of a fixed length, always with all candidates, so that the time taken reveals nothing. */
function oneOf(candidates: readonly string[]): (given: string) => boolean {
  const hashOf = (text: string) => hash("sha256", text, "buffer");
  const hashes = candidates.map(hashOf);
  return (given) => {
    const givenHash = hashOf(given);
    return hashes.map((each) => timingSafeEqual(each, givenHash)).includes(true);
  };
}

/**
 * The part of a request that `basicAuth` reads. `basicAuth` accepts base64 that RFC 7617 does not (`.` and `~`, no padding),
 * so it gets the header only if the header is strict and not repeated. It writes the password to this object, not to the
 * request.
 */
function withStrictHeader({ headersDistinct }: Request): Request {
  const [authorization = "", second] = headersDistinct["authorization"] ?? [];
  const isTaken = second === undefined && STRICT.test(authorization);
  return { headers: isTaken ? { authorization } : {} } as Request;
}

/** Base64 as an encoder writes it: padded, and with its unused bits zero. */
const STRICT =
  /^[Bb][Aa][Ss][Ii][Cc] +(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)$/;
