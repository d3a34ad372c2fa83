import { createHash, timingSafeEqual } from "node:crypto";
import { Secret } from "../secret.ts";
import { readUuid } from "../uuid.ts";

/** A sign-on whose signatures are right; whether it comes in time, and for the first time, is not known yet. */
export interface SignedForm {
  uuid: string;
  /** Unix seconds: when the platform signed it. */
  timestamp: number;
  /** Those that came, and are right. */
  tokens: Secret[];
  /** Hash of the token that counts: with it this form can be used once. */
  tokenHash: Buffer;
  /** Hash of the weaker token, which anybody who saw the form could send alone; null if it is the one that counts. */
  weakerTokenHash: Buffer | null;
  /** Whom the platform vouches for; null: nobody in particular. */
  email: string | null;
}

/** Why a form is refused: for the log alone. */
export type Unsigned = "incomplete" | "wrong_token" | "no_user_token";

const LONGEST_MEMBER = 1_000;

/**
 * Reads the form with which the platform's dashboard sends a customer, and checks its tokens in constant time
 * (assumed, section 6). Every token that is there must be right; who the customer is counts only where the
 * user-scoped one says so. `mustNameUser`: the other one alone is not enough.
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
  // A colon could be moved from one to the other, and the token would be the same.
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
    tokenHash: sha256(userToken ?? expected),
    weakerTokenHash: userToken ? sha256(expected) : null,
    email: userToken ? email! : null,
  };
}

type Name =
  "resource_id" | "timestamp" | "resource_token" | "user_scoped_resource_token" | "user_id" | "email";

/** What stands in the form as one line of a sensible length; a member that is there twice is none. */
function membersOf(body: unknown): Partial<Record<Name, string>> {
  const members = Object.entries((body ?? {}) as Record<string, unknown>);
  return Object.fromEntries(
    members.filter(
      ([, value]) =>
        typeof value === "string" &&
        value !== "" &&
        value.length <= LONGEST_MEMBER &&
        // Nobody's name or address has one, and U+0000 no database takes.
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

/** Hashes are compared: they have one length, and how far they agree says nothing about the texts. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(sha256(given), sha256(expected));
}
