import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "../secret.ts";

/** How long a page that asks may stay open before its button is pressed. */
const FORM_SECONDS = 3_600;

/**
 * What a form must bring to be carried out. The browser sends the operator's password by itself, also with a form of
 * another site; so each of ours carries a token that only a page of ours can hold, made for its own path, good for an
 * hour, and known by a name of its own (`form`), so that a form which is sent twice is carried out once. Keyed with the
 * password, it needs no table and is the same in every process.
 */
export function createFormTokens(password: Secret, now: () => number = () => Date.now() / 1_000) {
  const sign = (path: string, form: string, at: number) =>
    createHmac("sha256", password.reveal())
      .update(`operator form\n${path}\n${form}\n${at}`)
      .digest("base64url");

  return {
    tokenFor(path: string): string {
      const form = randomBytes(12).toString("base64url");
      const at = Math.floor(now());
      return `${at}.${form}.${sign(path, form, at)}`;
    },
    /** The form's name, or null if the token is none of ours for this path, or too old. */
    formOf(path: string, token: unknown): string | null {
      if (typeof token !== "string") return null;
      const [, time, form, signature] = /^(\d{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token) ?? [];
      if (!time || !form || !signature) return null;
      const isOurs = timingSafeEqual(Buffer.from(signature), Buffer.from(sign(path, form, Number(time))));
      return isOurs && now() - Number(time) <= FORM_SECONDS ? form : null;
    },
  };
}

export type FormTokens = ReturnType<typeof createFormTokens>;
