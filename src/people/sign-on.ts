import { createHash, timingSafeEqual } from "node:crypto";
import type { Secret } from "../secret.ts";
import { readUuid } from "../values.ts";
import { problem } from "./problems.ts";

/** A sign-on whose tokens are valid. Whether it comes in time, and for the first time, is checked later. */
export interface SignedForm {
  uuid: string;
  /** Unix seconds. */
  timestamp: number;
  /**
   * Hash of the token that makes this form usable only once. Where the weaker token is enough, it is that one, so that
   * whoever saw a form cannot send each of its tokens alone.
   */
  tokenHash: Buffer<ArrayBuffer>;
  user: { id: string; email: string } | null;
}

/**
 * Reads the form with which the platform's dashboard sends a customer, and checks its tokens in constant time (assumed,
 * section 6). Every token in the form must be valid. The user's e-mail address counts only with a valid user-scoped
 * token. `mustNameUser`: the form must have a user-scoped token. Throws the problem of a refused sign-on.
 */
export function readSignedForm(form: URLSearchParams, salt: Secret, mustNameUser: boolean): SignedForm {
  const { resource_id: id, timestamp, resource_token: token, ...ofTheUser } = membersOf(form);
  const { user_scoped_resource_token: userToken, user_id: userId, email } = ofTheUser;
  const uuid = readUuid(id);
  // Otherwise a colon could move from one value to the other, and the token would stay valid.
  const isUserComplete = userId && email && !userId.includes(":");
  if (!uuid || !timestamp || !/^\d{1,11}$/.test(timestamp) || !(token || userToken))
    throw problem("sign_on_refused", "A member of the sign-on is missing or malformed.");
  if (userToken ? !isUserComplete : mustNameUser)
    throw problem("sign_on_refused", "The sign-on names no user, and SSO_REQUIRE_USER is not off.");

  const signed = [id!, salt.reveal(), timestamp].join(":");
  const expected = hash("sha1", signed).toString("hex");
  const ofUser = hash("sha256", `${signed}:${userId}:${email}`).toString("hex");
  const isRight = [isSame(token ?? expected, expected), isSame(userToken ?? ofUser, ofUser)];
  if (isRight.includes(false))
    throw problem("sign_on_refused", "A token of the sign-on does not fit SSO_SALT and the other members.");
  return {
    uuid,
    timestamp: Number(timestamp),
    tokenHash: hash("sha256", mustNameUser ? userToken! : expected),
    user: userToken ? { id: userId!, email: email! } : null,
  };
}

const MEMBERS = "resource_id timestamp resource_token user_scoped_resource_token user_id email".split(" ");

/** The members that are one text of acceptable length without control characters: PostgreSQL does not store U+0000. */
function membersOf(form: URLSearchParams): Partial<Record<string, string>> {
  const isText = (value: string) => /^\P{Cc}+$/u.test(value) && value.length <= 1_000;
  return Object.fromEntries(
    MEMBERS.flatMap((name) => {
      const [value = "", ...more] = form.getAll(name);
      return isText(value) && more.length === 0 ? [[name, value]] : [];
    }),
  );
}

function hash(algorithm: "sha1" | "sha256", text: string): Buffer<ArrayBuffer> {
  return createHash(algorithm).update(text).digest();
}

/** Compares hashes: they have equal length, and how far two of them agree reveals nothing about the texts. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash("sha256", given), hash("sha256", expected));
}
