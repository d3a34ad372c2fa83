import { randomBytes, timingSafeEqual } from "node:crypto";
import { Secret } from "../secret.ts";
import type { Services } from "../services.ts";
import type { Operator } from "./access/operator.ts";

/** How long a page that asks may stay open before its button is pressed. */
const FORM_SECONDS = 3_600;

/**
 * What a form must bring to be carried out. The browser sends the operator's password or session by itself, perhaps also
 * with a form of another site; so each of ours carries a token that only a page of ours can hold, made for its own path
 * and for who opened it, good for an hour, and known by a name of its own (`form`), so that a form which is sent twice is
 * carried out once. A keyed hash, it needs no table and is the same in every process. Forms of the password end with it;
 * the key is not the password, or whoever is signed in could try passwords on a token at home.
 */
export function createFormTokens({
  vault,
  password,
  now = () => Date.now() / 1_000,
}: {
  vault: Pick<Services["vault"], "keyId" | "keyIds" | "hash">;
  password: Secret | undefined;
  now?: () => number;
}) {
  function sign(path: string, holder: Operator, form: string, at: number, keyId: string): Buffer {
    const who = holder.account ?? `password ${password?.reveal()}`;
    const signed = new Secret(["operator form", path, who, form, at].join("\n"));
    return Buffer.from(vault.hash(signed, keyId));
  }

  return {
    tokenFor(path: string, holder: Operator): string {
      const form = randomBytes(12).toString("base64url");
      const at = Math.floor(now());
      return `${at}.${form}.${sign(path, holder, form, at, vault.keyId).toString("base64url")}`;
    },
    /** The form's name, or null if the token is none of ours for this path and holder, or too old. */
    formOf(path: string, holder: Operator, token: unknown): string | null {
      if (typeof token !== "string") return null;
      const [, time, form, signature] = /^(\d{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token) ?? [];
      if (!time || !form || !signature) return null;
      const given = Buffer.from(signature, "base64url");
      const isOurs = vault.keyIds.some((keyId) =>
        timingSafeEqual(given, sign(path, holder, form, Number(time), keyId)),
      );
      return isOurs && now() - Number(time) <= FORM_SECONDS ? form : null;
    },
  };
}

export type FormTokens = ReturnType<typeof createFormTokens>;
