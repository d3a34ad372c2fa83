import type { Request } from "express";
import { OAuthRefused } from "../refusal.ts";
import { mediaTypeOf } from "../wire/body.ts";

const secretMembers = ["client_secret", "code", "refresh_token", "access_token"];

/**
 * Reads the form of a token request: form-encoded, each member once, no secret in the URL ("Endpoints"). Throws
 * otherwise.
 */
export function readForm(req: Request, text: string): URLSearchParams {
  const leaked = secretMembers.find((member) => req.query[member] !== undefined);
  if (leaked)
    throw new OAuthRefused("invalid_request", `${leaked} was sent in the address; it belongs in the body.`);
  if (mediaTypeOf(req.headers["content-type"]) !== "application/x-www-form-urlencoded") {
    throw new OAuthRefused("invalid_request", "The content type must be application/x-www-form-urlencoded.");
  }
  const form = new URLSearchParams(text);
  const names = new Set<string>();
  for (const member of form.keys()) {
    if (names.has(member)) throw new OAuthRefused("invalid_request", `${member} was sent more than once.`);
    names.add(member);
  }
  // RFC 6749, section 3.2: a parameter without a value counts as omitted.
  return new URLSearchParams([...form].filter(([, value]) => value !== ""));
}

/** The value of a required member. Throws when it is missing. */
export function required(form: URLSearchParams, member: string): string {
  const value = form.get(member);
  if (!value) throw new OAuthRefused("invalid_request", `${member} is missing.`);
  return value;
}
