import { randomBytes, createHmac, timingSafeEqual } from "node:crypto";
import basicAuth from "express-basic-auth";
import { Router, type NextFunction, type Request, type RequestHandler, type Response } from "express";
import { askForBody } from "../ask-for-body.ts";
import type { Secret } from "../secret.ts";
import { createRemembered } from "./remembered.ts";

const THE_PLATFORM = {
  realm: "add-on partner",
  message: "Send the add-on's id and password with HTTP Basic authentication.",
};

/**
 * Lets only the platform in: HTTP Basic with the add-on's id and one of its passwords (assumed, section 1); or whom
 * else `asked` is said to. Comes before the body is read and the uuid is looked up, in every environment. Each refusal
 * looks the same.
 */
export function authenticate(
  user: string,
  passwords: readonly Secret[],
  asked: { realm: string; message: string } = THE_PLATFORM,
): RequestHandler {
  const isKnown = oneOf(passwords.map((password) => `${user}:${password.reveal()}`));
  const remembered = createRemembered();
  const judge = Router().use(
    dropMalformed,
    basicAuth({
      challenge: true,
      realm: asked.realm,
      // One comparison of user and password together: a colon cannot stand in the user name.
      authorizer: (givenUser: string, givenPassword: string) => isKnown(`${givenUser}:${givenPassword}`),
      unauthorizedResponse(request: Request) {
        // The body of a refused request is not read, so the connection cannot be used again.
        request.res?.setHeader("Connection", "close");
        return { id: "unauthorized", message: asked.message };
      },
    }),
    (request, _response, next) => {
      remembered.add(request.headers.authorization);
      next();
    },
  );
  return (request, response, next) => {
    const letIn = (error?: unknown) => {
      if (error === undefined) askForBody(request, response);
      next(error);
    };
    if (remembered.knows(request.headers.authorization) && isOnlyOne(request)) letIn();
    else judge(request, response, letIn);
  };
}

/** Compares with fixed-length keyed hashes of all candidates, none left out, so that time tells nothing. */
function oneOf(candidates: readonly string[]): (given: string) => boolean {
  const key = randomBytes(32);
  const hash = (text: string) => createHmac("sha256", key).update(text).digest();
  const hashes = candidates.map(hash);
  return (given) => {
    const givenHash = hash(given);
    return hashes.map((each) => timingSafeEqual(each, givenHash)).includes(true);
  };
}

/**
 * Takes an Authorization header away that is not strictly one of RFC 7617, so that the next in line answers 401. The
 * library is forgiving about base64, and of two headers Node keeps the first without a word.
 */
function dropMalformed(request: Request, _response: Response, next: NextFunction): void {
  const { authorization } = request.headers;
  if (authorization !== undefined && !(isStrict(authorization) && isOnlyOne(request)))
    delete request.headers.authorization;
  next();
}

function isStrict(authorization: string): boolean {
  const [, base64] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  if (!base64 || base64.length % 4 !== 0) return false;
  const bytes = Buffer.from(base64, "base64");
  return bytes.includes(0x3a) && bytes.toString("base64") === base64;
}

function isOnlyOne({ rawHeaders }: Request): boolean {
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === "authorization") found += 1;
  return found === 1;
}
