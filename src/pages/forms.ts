import { randomBytes, timingSafeEqual } from "node:crypto";
import express, { type Request, type RequestHandler } from "express";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { type Explanation, Problem } from "./pages.tsx";

// The largest form holds a client secret, or the names of all config vars.
const parse = express.text({ type: "application/x-www-form-urlencoded", limit: 32 * 1024 });

const UNREADABLE: Explanation = {
  status: 400,
  title: "That cannot be done",
  happened: "What was sent is no form that can be read, or it is too long.",
  advice: "Nothing was changed.",
};

/** Reads the form of a request; `unreadable` makes what is thrown if it is none, or too long. */
export const readForm =
  (unreadable: () => Problem): RequestHandler =>
  (request, response, next) => {
    parse(request, response, (error?: { status: number }) =>
      next(error && error.status < 500 ? unreadable() : error),
    );
  };

export const parseForm = readForm(() => new Problem("unreadable", UNREADABLE));

export const formIn = ({ body }: Request) => new URLSearchParams(body as string | undefined);

/** How long a page with a form may stay open before its button is pressed. */
const FORM_SECONDS = 3_600;

type Signing = { vault: Vault };
const nowSeconds = () => Math.floor(Date.now() / 1_000);

/** What a form is for. `holder`: what only the person at the page has, or is; it may be a secret. */
export interface Purpose {
  of: "operator" | "customer";
  path: string;
  holder: string;
}

/**
 * A token against cross-site request forgery. A browser sends a password or a session by itself, even with a form of
 * another site, so each form carries a token that only a page of ours can contain, valid for one hour, one path and one
 * holder. It contains a unique name (`form`), so that a form which is sent twice is carried out once.
 */
export function tokenFor(ctx: Signing, purpose: Purpose, at = nowSeconds()): string {
  const form = randomBytes(12).toString("base64url");
  return `${at}.${form}.${sign(ctx, purpose, form, at).toString("base64url")}`;
}

/** The name of the token's form; null if the token is not valid for this purpose, or too old. */
export function formOf(ctx: Signing, purpose: Purpose, token: string | null): string | null {
  const [, at, form, signature] = /^(\d{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token ?? "") ?? [];
  if (!at || !form || !signature) return null;
  const given = Buffer.from(signature, "base64url");
  const isOurs = ctx.vault.keyIds.some((keyId) =>
    timingSafeEqual(given, sign(ctx, purpose, form, Number(at), keyId)),
  );
  return isOurs && nowSeconds() - Number(at) <= FORM_SECONDS ? form : null;
}

/** The holder is part of the text and not the key, or a password could be guessed offline from a token. */
function sign(
  { vault }: Signing,
  { of, path, holder }: Purpose,
  form: string,
  at: number,
  keyId = vault.keyId,
): Buffer {
  return Buffer.from(vault.hash(new Secret([`${of} form`, path, holder, form, at].join("\n")), keyId));
}
