import { randomBytes, timingSafeEqual } from "node:crypto";
import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import type { Context } from "../../context.ts";
import { askForBody, isUnreadableBody } from "../../http/requests.ts";
import { Secret } from "../../secret.ts";
import type { Operator } from "../store.ts";
import { refused } from "./problems.ts";

/** The members of a form; each has all values that were sent under its name. */
export type Form = Readonly<Record<string, readonly string[]>>;

// The largest form holds a client secret, or a name and a fingerprint for each config var.
const parse = express.urlencoded({ extended: false, limit: 32 * 1024, parameterLimit: 500 });

export const parseForm: RequestHandler = (request, response, next) => {
  askForBody(request, response);
  parse(request, response, next);
};

export const refuseUnreadable: ErrorRequestHandler = (error: unknown, _request, _response, next) => {
  next(
    isUnreadableBody(error)
      ? refused("unreadable", 400, "What was sent is no form that can be read.")
      : error,
  );
};

export function formIn(body: unknown): Form {
  const members = Object.entries((body ?? {}) as Record<string, unknown>);
  const texts = (value: unknown) => [value].flat().filter((each) => typeof each === "string");
  return Object.fromEntries(members.map(([name, value]) => [name, texts(value)]));
}

/** How long a confirmation page may stay open before its button is pressed. */
const FORM_SECONDS = 3_600;

type Signing = Pick<Context, "vault" | "config">;
const nowSeconds = () => Math.floor(Date.now() / 1_000);

/**
 * A token against cross-site request forgery. A browser sends the operator's password or session by itself, even with a
 * form of another site, so each form carries a token that only a page of ours can contain. It is valid for one hour, for
 * one path and one operator; one issued to the password's holder ends when the password changes. It contains a unique
 * name (`form`), so that a form which is sent twice is carried out once. It is a keyed hash: it needs no table, and every
 * process can check it.
 */
export function tokenFor(ctx: Signing, path: string, holder: Operator, at = nowSeconds()): string {
  const form = randomBytes(12).toString("base64url");
  return `${at}.${form}.${sign(ctx, { path, holder, form, at }).toString("base64url")}`;
}

/** The name of the token's form; null if the token is not valid for this path and operator, or too old. */
export function formOf(ctx: Signing, path: string, holder: Operator, token = ""): string | null {
  const [, at, form, signature] = /^(\d{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token) ?? [];
  if (!at || !form || !signature) return null;
  const given = Buffer.from(signature, "base64url");
  const isOurs = ctx.vault.keyIds.some((keyId) =>
    timingSafeEqual(given, sign(ctx, { path, holder, form, at: Number(at) }, keyId)),
  );
  return isOurs && nowSeconds() - Number(at) <= FORM_SECONDS ? form : null;
}

/** The password is part of the text and not the key, or an operator could guess it offline from a token. */
function sign(
  { vault, config }: Signing,
  { path, holder, form, at }: { path: string; holder: Operator; form: string; at: number },
  keyId = vault.keyId,
): Buffer {
  const who = holder.account ?? `password ${config.operatorPassword?.reveal()}`;
  return Buffer.from(vault.hash(new Secret(["operator form", path, who, form, at].join("\n")), keyId));
}
