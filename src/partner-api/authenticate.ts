import { randomBytes, createHmac, timingSafeEqual } from "node:crypto";
import basicAuth from "express-basic-auth";
import { Router, type NextFunction, type Request, type RequestHandler, type Response } from "express";
import { askForBody } from "../http/ask-for-body.ts";
import type { Secret } from "../secret.ts";
import { createAcceptedHeaders } from "./accepted-headers.ts";

const THE_PLATFORM = {
  realm: "add-on partner",
  message: "Send the add-on's id and password with HTTP Basic authentication.",
};

/**
 * HTTP Basic guard: lets a request pass that has the name `user` and one of `passwords`. `asked` is the realm and the
 * message of the 401; by default the platform's (assumed, section 1). It comes before the body is read and the uuid is
 * looked up, in every environment. Each refusal looks the same.
 */
export function authenticate(
  user: string,
  passwords: readonly Secret[],
  asked: { realm: string; message: string } = THE_PLATFORM,
): RequestHandler {
  const isKnown = oneOf(passwords.map((password) => `${user}:${password.reveal()}`));
  const acceptedHeaders = createAcceptedHeaders();
  const judge = Router().use(
    dropMalformed,
    basicAuth({
      challenge: true,
      realm: asked.realm,
      // User and password are compared as one text, which is unambiguous because a user name contains no colon.
      authorizer: (givenUser: string, givenPassword: string) => isKnown(`${givenUser}:${givenPassword}`),
      unauthorizedResponse(request: Request) {
        // The body of a refused request is not read, so the connection cannot be used again.
        request.res?.setHeader("Connection", "close");
        return { id: "unauthorized", message: asked.message };
      },
    }),
    (request, _response, next) => {
      acceptedHeaders.add(request.headers.authorization);
      next();
    },
  );
  return (request, response, next) => {
    const letIn = (error?: unknown) => {
      if (error === undefined) askForBody(request, response);
      next(error);
    };
    if (acceptedHeaders.has(request.headers.authorization) && isOnlyOne(request)) letIn();
    else judge(request, response, letIn);
  };
}

/** Compares keyed hashes of a fixed length, always with all candidates, so that the time taken reveals nothing. */
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
 * Removes an Authorization header that does not strictly follow RFC 7617, or is not the only one, so that `basicAuth`
 * answers 401: that library accepts malformed base64, and Node silently keeps the first of two headers.
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
