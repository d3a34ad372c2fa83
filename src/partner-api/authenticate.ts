import { randomBytes, createHmac, timingSafeEqual } from "node:crypto";
import type { Request, RequestHandler } from "express";
import { askForBody } from "../http/ask-for-body.ts";
import type { Secret } from "../secret.ts";

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
  return (request, response, next) => {
    if (isKnown(credentialsOf(request) ?? "")) {
      askForBody(request, response);
      return next();
    }
    // The body of a refused request is not read, so the connection cannot be used again.
    response.set({ Connection: "close", "WWW-Authenticate": `Basic realm="${asked.realm}"` });
    response.status(401).json({ id: "unauthorized", message: asked.message });
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
 * User and password with a colon in between, which is unambiguous because a user name contains no colon. Null if the
 * request's Authorization header does not strictly follow RFC 7617, or is not the only one: Node decodes malformed
 * base64, and keeps the first of two headers.
 */
function credentialsOf(request: Request): string | null {
  const { authorization = "" } = request.headers;
  const [, base64] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  if (!base64 || base64.length % 4 !== 0 || !isOnlyOne(request)) return null;
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? bytes.toString("utf8") : null;
}

function isOnlyOne({ rawHeaders }: Request): boolean {
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === "authorization") found += 1;
  return found === 1;
}
