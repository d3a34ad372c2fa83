import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import type { AddressOf } from "../pages/pages.tsx";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { clearCookie, makeRoom, randomId, readCookie, setCookie, type SecretCookie } from "./cookies.ts";

// Sign-ins under way. Anybody can begin one, so none is stored here: each is sealed in a cookie of its browser, bound to
// its `state` (platform document, "Authentication" 2), and a browser can have several, one for each tab.

/** How long a person may take to sign in at the platform. */
const ATTEMPT_SECONDS = 600;
/** Longer, so that a person who comes back late is told so. */
const COOKIE_SECONDS = 3600;
/** A cookie may take 2 kB, so a browser keeps those of a few tabs. */
const MOST_COOKIES = 4;
const FAMILY = /kit_sign_in_([\w-]{8})$/;

interface Needs {
  vault: Vault;
  pages: { addressOf: AddressOf };
}

/** What was requested when a sign-in began. */
export interface Attempt {
  scopes: string[];
  returnTo: string | null;
}

/** A sign-in under way, as its browser keeps it. */
export interface Begun extends Attempt {
  state: Secret;
  /** Proves to the platform that the code is exchanged by whoever asked for it (RFC 7636). */
  verifier: Secret;
  isExpired: boolean;
}

/** Begins a sign-in; returns its state and its code challenge (S256), for the address at the platform. */
export function beginAttempt(
  { vault, pages }: Needs,
  request: Request,
  response: Response,
  attempt: Attempt,
): { state: string; challenge: string } {
  const [state, verifier] = [randomId().reveal(), randomId().reveal()];
  const kept = JSON.stringify({ ...attempt, verifier, endsAt: Date.now() + ATTEMPT_SECONDS * 1_000 });
  const sealed = Buffer.from(vault.seal(contextOf(state), kept)).toString("base64url");
  const cookieOf = (key: string) => cookie(pages.addressOf, key);
  makeRoom(cookieOf, { family: FAMILY, most: MOST_COOKIES, kept: keyOf(state) }, request, response);
  setCookie(cookieOf(keyOf(state)), request, response, new Secret(sealed));
  return { state, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** The sign-in that began in this browser with the state in the query; null if there is none. */
export function findAttempt({ vault, pages }: Needs, request: Request): Begun | null {
  const state = request.query["state"];
  if (typeof state !== "string") return null;
  const sealed = readCookie(cookie(pages.addressOf, keyOf(state)), request);
  const kept = sealed && opened(vault, state, sealed);
  if (!kept) return null;
  const { verifier, endsAt, ...attempt } = JSON.parse(kept.reveal()) as Attempt & {
    verifier: string;
    endsAt: number;
  };
  const isExpired = endsAt <= Date.now();
  return { ...attempt, state: new Secret(state), verifier: new Secret(verifier), isExpired };
}

/** Removes it from the browser, once it is completed. */
export function endAttempt({ pages }: Needs, request: Request, response: Response, { state }: Begun): void {
  clearCookie(cookie(pages.addressOf, keyOf(state.reveal())), request, response);
}

function cookie(addressOf: AddressOf, key: string): SecretCookie {
  return { addressOf, name: `kit_sign_in_${key}`, path: "/oauth", maxAgeSeconds: COOKIE_SECONDS };
}

const keyOf = (state: string) => state.slice(0, 8);
const contextOf = (state: string) => ({ table: "cookies", column: "sign_in", uuid: state });

/** Null for what we did not seal for this state, or not with a key that is left. */
function opened(vault: Vault, state: string, sealed: Secret): Secret | null {
  try {
    return vault.open(contextOf(state), Buffer.from(sealed.reveal(), "base64url"));
  } catch {
    return null;
  }
}
