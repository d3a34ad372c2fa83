import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Operator } from "../audit.ts";
import { Secret } from "../../secret.ts";
import type { OpenContext } from "../../open-context.ts";

/** How long a confirmation page may stay open before its button is pressed. */
const FORM_SECONDS = 3_600;

/**
 * Tokens against cross-site request forgery. A browser sends the operator's password or session by itself, even with a
 * form of another site, so each form carries a token that only a page of ours can contain. It is valid for one hour,
 * for one path and one operator. It contains a unique name (`form`), so that a form which is sent twice is carried out
 * once. It is a keyed hash: it needs no table, and every process can check it. Tokens issued to the password's holder
 * end when the password changes. The password is part of the hashed text and not the key, or an operator could guess
 * the password offline from a token.
 */
export function createFormTokens({
  vault,
  password,
  now = () => Date.now() / 1_000,
}: {
  vault: Pick<OpenContext["vault"], "keyId" | "keyIds" | "hash">;
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
    /** The form's name; null if the token is not valid for this path and operator, or too old. */
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
