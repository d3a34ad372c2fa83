import { createHash, timingSafeEqual } from "node:crypto";
import type { Secret } from "../secret.ts";
import { readUuid } from "../values.ts";
import { problem } from "./problems.ts";

/** A sign-on whose tokens are valid. Whether it comes in time, and for the first time, is checked later. */
export interface SignedForm {
  uuid: string;
  /** Unix seconds: when the platform signed it. */
  timestamp: number;
  /**
   * Hash of the token that makes this form usable only once. Where the weaker token is enough, it is that one, so that
   * whoever saw a form cannot send each of its tokens alone.
   */
  tokenHash: Buffer;
  /** The user whom the platform vouches for; null if it names none. */
  user: { id: string; email: string } | null;
}

const LONGEST_MEMBER = 1_000;

/**
 * Reads the form with which the platform's dashboard sends a customer, and checks its tokens in constant time (assumed,
 * section 6). Every token in the form must be valid. The user's e-mail address counts only with a valid user-scoped
 * token. `mustNameUser`: the form must have a user-scoped token. Throws the problem of a refused sign-on.
 */
export function readSignedForm(
  body: unknown,
  salt: Secret,
  { mustNameUser }: { mustNameUser: boolean },
): SignedForm {
  const form = membersOf(body);
  const { resource_id: id, timestamp, resource_token: token, user_scoped_resource_token: userToken } = form;
  const { user_id: userId, email } = form;
  const uuid = readUuid(id);
  // Otherwise a colon could move from one value to the other, and the token would stay valid.
  const isUserComplete = userId && email && !userId.includes(":");
  if (!uuid || !timestamp || !/^\d{1,11}$/.test(timestamp) || !(token || userToken))
    throw problem("sign_on_refused", "A member of the sign-on is missing or malformed.");
  if (userToken ? !isUserComplete : mustNameUser)
    throw problem("sign_on_refused", "The sign-on names no user, and SSO_REQUIRE_USER is not off.");

  const signed = [id!, salt.reveal(), timestamp].join(":");
  const expected = hash("sha1", signed).toString("hex");
  const isRight = [
    token === undefined || isSame(token, expected),
    userToken === undefined ||
      isSame(userToken, hash("sha256", `${signed}:${userId}:${email}`).toString("hex")),
  ];
  if (isRight.includes(false))
    throw problem("sign_on_refused", "A token of the sign-on does not fit SSO_SALT and the other members.");
  return {
    ...{ uuid, timestamp: Number(timestamp) },
    tokenHash: hash("sha256", mustNameUser ? userToken! : expected),
    user: userToken ? { id: userId!, email: email! } : null,
  };
}

type Name =
  "resource_id" | "timestamp" | "resource_token" | "user_scoped_resource_token" | "user_id" | "email";

/**
 * The members that are one text of acceptable length, which has no control character: none has one, and PostgreSQL does
 * not store U+0000.
 */
function membersOf(body: unknown): Partial<Record<Name, string>> {
  const isText = (value: unknown) =>
    typeof value === "string" && /^\P{Cc}+$/u.test(value) && value.length <= LONGEST_MEMBER;
  return Object.fromEntries(
    Object.entries((body ?? {}) as Record<string, string>).filter(([, value]) => isText(value)),
  );
}

function hash(algorithm: "sha1" | "sha256", text: string): Buffer {
  return createHash(algorithm).update(text).digest();
}

/** Compares hashes: they have equal length, and how far two of them agree reveals nothing about the texts. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash("sha256", given), hash("sha256", expected));
}
