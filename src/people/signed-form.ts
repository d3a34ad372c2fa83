import { createHash, timingSafeEqual } from "node:crypto";
import { Secret } from "../secret.ts";
import { readUuid } from "../uuid.ts";

/** A sign-on whose tokens are valid. Whether it comes in time, and for the first time, is checked later. */
export interface SignedForm {
  uuid: string;
  /** Unix seconds: when the platform signed it. */
  timestamp: number;
  /** The tokens that the form held; all are valid. */
  tokens: Secret[];
  /**
   * Hash of the token that decides: it makes this form usable only once. Where the weaker token is enough, that one
   * decides, so that whoever saw a form cannot send each of its tokens alone.
   */
  tokenHash: Buffer;
  /** Hash of the other token; null if the form has none. */
  otherTokenHash: Buffer | null;
  /** The user whom the platform vouches for; null if it names none. */
  user: { id: string; email: string } | null;
}

/** Why a form is refused; goes to the log alone. */
export type Unsigned = "incomplete" | "wrong_token" | "no_user_token";

const LONGEST_MEMBER = 1_000;

/**
 * Reads the form with which the platform's dashboard sends a customer, and checks its tokens in constant time (assumed,
 * section 6). Every token in the form must be valid. The user's e-mail address counts only with a valid user-scoped
 * token. `mustNameUser`: the form must have a user-scoped token.
 */
export function readSignedForm(
  body: unknown,
  salt: Secret,
  { mustNameUser }: { mustNameUser: boolean },
): SignedForm | Unsigned {
  const form = membersOf(body);
  const { resource_id: id, timestamp, resource_token: token, user_scoped_resource_token: userToken } = form;
  const uuid = readUuid(id);
  if (!uuid || !timestamp || !/^\d{1,11}$/.test(timestamp) || !(token || userToken)) return "incomplete";
  if (!userToken && mustNameUser) return "no_user_token";
  const { user_id: userId, email } = form;
  // Otherwise a colon could move from one value to the other, and the token would stay valid.
  if (userToken && (!userId || !email || userId.includes(":"))) return "incomplete";

  const signed = [id!, salt.reveal(), timestamp].join(":");
  const expected = hex("sha1", signed);
  const isRight = [
    token === undefined || isSame(token, expected),
    userToken === undefined || isSame(userToken, hex("sha256", `${signed}:${userId}:${email}`)),
  ];
  if (isRight.includes(false)) return "wrong_token";
  return {
    uuid,
    timestamp: Number(timestamp),
    tokens: [token, userToken].filter((each) => each !== undefined).map((each) => new Secret(each)),
    tokenHash: sha256(mustNameUser ? userToken! : expected),
    otherTokenHash: userToken ? sha256(mustNameUser ? expected : userToken) : null,
    user: userToken ? { id: userId!, email: email! } : null,
  };
}

type Name =
  "resource_id" | "timestamp" | "resource_token" | "user_scoped_resource_token" | "user_id" | "email";

/** The members of the form that are a single non-empty string of acceptable length; a repeated member is left out. */
function membersOf(body: unknown): Partial<Record<Name, string>> {
  const members = Object.entries((body ?? {}) as Record<string, unknown>);
  return Object.fromEntries(
    members.filter(
      ([, value]) =>
        typeof value === "string" &&
        value !== "" &&
        value.length <= LONGEST_MEMBER &&
        // No id, token or address contains a control character, and PostgreSQL does not store U+0000.
        !/\p{Cc}/u.test(value),
    ),
  );
}

function hex(algorithm: "sha1" | "sha256", text: string): string {
  return createHash(algorithm).update(text).digest("hex");
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Compares hashes: they have equal length, and how far two of them agree reveals nothing about the texts. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(sha256(given), sha256(expected));
}
