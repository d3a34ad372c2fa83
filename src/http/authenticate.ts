import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import type { Secret } from "../secret.ts";
import { accept, askForBody, clientAddress } from "./requests.ts";

/** What a password opens. */
type Door = "platform" | "operator" | "metrics";

/** Where a password is wanted. `realm` and `message` are those of its 401. */
interface Entrance {
  door: Door;
  realm: string;
  message: string;
  /** A user's name contains no colon; one without a password is nobody. */
  logins: readonly (readonly [user: string, password: Secret | undefined])[];
}

/** Calls `refuse` for a request with a wrong password, the later the more there were. */
type SlowDown = (request: Request, response: Response, door: Door, refuse: () => void) => void;

/** Who lets requests with a password pass; null where none is set. The operator may see the metrics too. */
export function createGuards(ctx: Pick<Context, "config" | "metrics" | "pace" | "log">) {
  const { addonId, addonPassword, addonPasswordPrevious, operatorPassword, metricsPassword } = ctx.config;
  const slowDown = createSlowDown(ctx);
  const operator = ["operator", operatorPassword] as const;
  const guard = (entrance: Entrance) =>
    entrance.logins.some(([, password]) => password) ? authenticate(entrance, slowDown) : null;
  return {
    platform: guard({
      ...{ door: "platform", realm: "add-on partner", logins: [[addonId, addonPassword], [addonId, addonPasswordPrevious]] }, // prettier-ignore
      message: "Send the add-on's id and password with HTTP Basic authentication.",
    })!,
    operator: guard({
      ...{ door: "operator", realm: "operator", logins: [operator] },
      message: "Send the user operator and OPERATOR_PASSWORD with HTTP Basic authentication.",
    }),
    metrics: guard({
      ...{ door: "metrics", realm: "metrics", logins: [["metrics", metricsPassword], operator] },
      message: "Send the user metrics and METRICS_PASSWORD with HTTP Basic authentication.",
    }),
  };
}

/**
 * HTTP Basic guard: lets a request pass that has a user's name and password, at once, whatever wrong ones come beside
 * it. It comes before the body is read and the uuid is looked up, in every environment. Each refusal looks the same
 * (assumed, section 1).
 */
export function authenticate({ door, realm, message, logins }: Entrance, slowDown: SlowDown): RequestHandler {
  const isRight = oneOf(
    logins.flatMap(([user, password]) => (password ? `${user}:${password.reveal()}` : [])),
  );
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
    const refuse = () => next(new Refusal(message, { id: "unauthorized", status: 401 }));
    if (request.headers.authorization === undefined) refuse();
    else slowDown(request, response, door, refuse);
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

/**
 * User and password with the colon between them; null unless the request has exactly one Authorization header, and it
 * strictly follows RFC 7617: of two, Node silently keeps the first.
 */
function credentialsIn({ headers, rawHeaders }: IncomingMessage): Buffer | null {
  const [, base64] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(headers.authorization ?? "") ?? [];
  if (!base64 || base64.length % 4 !== 0) return null;
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === "authorization") found += 1;
  const bytes = Buffer.from(base64, "base64");
  return found === 1 && bytes.toString("base64") === base64 ? bytes : null;
}

const WINDOW_MS = 60_000;
/** So many in a window are refused at once: of one address, and in all. */
const MOST_AT_ONCE = 20;
const MOST_IN_ALL = 100;
/** Each further one waits so many steps longer, at most. */
const MOST_STEPS = 80;
/** Addresses that are counted apart; in a window without room for another one, it counts in all alone. */
const MOST_ADDRESSES = 10_000;

/**
 * Slows down those who guess passwords, a step (`pace.wrongPasswordMs`) more for each guess beyond a few: by their
 * address, and in all. An alarm says when there are many.
 */
function createSlowDown({ metrics, pace, log }: Pick<Context, "metrics" | "pace" | "log">): SlowDown {
  const byAddress = new Map<string, number>();
  let inAll = 0;

  return (request, response, door, refuse) => {
    metrics.wrongPassword(door);
    const address = clientAddress(request) ?? "";
    const of = (byAddress.get(address) ?? 0) + 1;
    if (of > 1 || byAddress.size < MOST_ADDRESSES) byAddress.set(address, of);
    inAll += 1;
    if (inAll === 1)
      setTimeout(() => {
        byAddress.clear();
        inAll = 0;
      }, WINDOW_MS).unref();
    const about = { alarm: "wrong_passwords", door, address, addresses: byAddress.size };
    if (inAll === MOST_IN_ALL) log.error(about, "Somebody guesses passwords");
    const steps = Math.min(Math.max(of - MOST_AT_ONCE, inAll - MOST_IN_ALL, 0), MOST_STEPS);
    if (steps === 0) return refuse();
    const timer = setTimeout(refuse, steps * pace.wrongPasswordMs);
    response.once("close", () => clearTimeout(timer));
  };
}
