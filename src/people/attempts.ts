import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import type { AddressOf } from "../pages/pages.tsx";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { createCookieRoom } from "./cookie-room.ts";
import { randomId } from "./random-id.ts";
import { createSecretCookie } from "./secret-cookie.ts";

/** How long a person may take to sign in at the platform. */
const ATTEMPT_SECONDS = 600;
/** Longer, so that a person who comes back late is told so. */
const COOKIE_SECONDS = 3600;
/** A cookie may take 2 kB, so a browser keeps those of a few tabs. */
const MOST_COOKIES = 4;
const FAMILY = /kit_sign_in_([\w-]{8})$/;

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

/**
 * Sign-ins under way. Anybody can begin one, so none is stored here: each is sealed in a cookie of its browser, bound to
 * its `state` (platform document, "Authentication" 2), and a browser can have several, one for each tab.
 */
export function createAttempts({ vault, addressOf }: { vault: Vault; addressOf: AddressOf }) {
  const cookieOf = (key: string) =>
    createSecretCookie(addressOf, {
      ...{ name: `kit_sign_in_${key}`, path: "/oauth" },
      maxAgeSeconds: COOKIE_SECONDS,
    });
  const makeRoom = createCookieRoom(cookieOf, { family: FAMILY, most: MOST_COOKIES });
  const keyOf = (state: string) => state.slice(0, 8);
  const contextOf = (state: string) => ({ table: "cookies", column: "sign_in", uuid: state });

  return {
    /** Begins a sign-in; returns its state and its code challenge (S256), for the address at the platform. */
    begin(request: Request, response: Response, attempt: Attempt): { state: string; challenge: string } {
      const [state, verifier] = [randomId().reveal(), randomId().reveal()];
      const kept = JSON.stringify({ ...attempt, verifier, endsAt: Date.now() + ATTEMPT_SECONDS * 1_000 });
      const sealed = Buffer.from(vault.seal(contextOf(state), kept)).toString("base64url");
      makeRoom(request, response, keyOf(state));
      cookieOf(keyOf(state)).set(request, response, new Secret(sealed));
      return { state, challenge: createHash("sha256").update(verifier).digest("base64url") };
    },

    /** The sign-in that began in this browser with the state in the query; null if there is none. */
    find(request: Request): Begun | null {
      const state = request.query["state"];
      const sealed = typeof state === "string" ? cookieOf(keyOf(state)).read(request) : null;
      if (typeof state !== "string" || !sealed) return null;
      const kept = opened(() => vault.open(contextOf(state), Buffer.from(sealed.reveal(), "base64url")));
      if (!kept) return null;
      const { verifier, endsAt, ...attempt } = JSON.parse(kept.reveal()) as Attempt & {
        verifier: string;
        endsAt: number;
      };
      const isExpired = endsAt <= Date.now();
      return { ...attempt, state: new Secret(state), verifier: new Secret(verifier), isExpired };
    },

    /** Removes it from the browser, once it is completed. */
    end(request: Request, response: Response, { state }: Begun): void {
      cookieOf(keyOf(state.reveal())).clear(request, response);
    },
  };
}

export type Attempts = ReturnType<typeof createAttempts>;

/** Null for what we did not seal for this state, or not with a key that is left. */
function opened(open: () => Secret): Secret | null {
  try {
    return open();
  } catch {
    return null;
  }
}
