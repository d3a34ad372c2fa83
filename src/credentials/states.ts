import type { Moves } from "../resources/states.ts";

/** The owner of a credential: an add-on resource, or a person who signed in. */
export type Owner = "resource" | "person";

export type State = (typeof CREDENTIAL_STATES)[number];

export const CREDENTIAL_STATES = [
  "grant_pending",
  "active",
  "needs_reauth",
  "grant_lost",
  "no_grant",
  "signed_in",
  "needs_sign_in",
  "quarantined",
  "erased",
] as const;

/** The states of a resource's credential, which operators and metrics count. */
export const STATES_OF_RESOURCES = CREDENTIAL_STATES.filter(
  (state) => state !== "signed_in" && state !== "needs_sign_in",
);

/**
 * The life of a credential. A claim does not change the state. A rejected client secret does not either: it stops the
 * calls of all credentials.
 */
export const CREDENTIAL_MOVES = {
  none: {
    "provision with a grant": [
      "grant_pending",
      "The code is exchanged within five minutes, after the platform has registered the answer to the provision.",
    ],
    "provision without a grant": ["no_grant", "The platform sent no code."],
    "sign-in": ["signed_in", "A person signed in; the pair comes from the web flow."],
  },
  grant_pending: {
    exchanged: ["active", "The platform issued the first token pair for the code."],
    deadline: [
      "grant_lost",
      "For five minutes the platform refused the code, could not be reached, or its answer was lost.",
    ],
    spent: [
      "grant_lost",
      "After a call of unknown outcome the platform refused the code twice, so the code was used.",
    ],
    "deadline, with an older pair": [
      "needs_reauth",
      "A grant that was to replace a refused refresh token is lost; the older pair stays.",
    ],
    "spent, with an older pair": [
      "needs_reauth",
      "As at the deadline, but earlier, because the code was used.",
    ],
    "another code": ["grant_pending", "A repeated provision brings a new code, and its five minutes begin."],
  },
  grant_lost: {
    "another code": ["grant_pending", "A repeated provision brings a code, or a grant is recovered."],
    "late tokens": ["active", "Issued tokens arrived late. The platform does not issue them twice."],
  },
  no_grant: {
    "another code": ["grant_pending", "A repeated provision brings a code, or a grant is recovered."],
  },
  active: {
    refreshed: ["active", "A new access token, at half of the old one's life."],
    "another code": ["grant_pending", "A grant is recovered while the pair is refused."],
    "refused three times in a day": [
      "needs_reauth",
      "The refresh token was revoked; it is tried once a day.",
    ],
  },
  needs_reauth: {
    refreshed: ["active", "The platform accepted the token, or a grant's tokens were stored late."],
    "another code": ["grant_pending", "A repeated provision brings a code, or a grant is recovered."],
  },
  signed_in: {
    refreshed: ["signed_in", "A new access token, as for a resource."],
    "sign-in": ["signed_in", "A new pair replaces the one before."],
    refused: [
      "needs_sign_in",
      "The platform refused the person's token. The tokens are erased; the person must sign in again.",
    ],
  },
  needs_sign_in: {
    "sign-in": ["signed_in", "The person signed in again."],
    "late tokens": ["signed_in", "A pair that replaced the refused one was held in memory until now."],
  },
  quarantined: {
    "key is back for a code": ["grant_pending", "The row holds a code."],
    "key is back for a pair": ["active", "The row holds a pair."],
    "key is back for a person": ["signed_in", "The row holds a person's pair."],
    "another code": ["grant_pending", "Only if no tokens were ever stored."],
    refreshed: ["active", "The refresh token could be decrypted."],
    "sign-in": ["signed_in", "A new pair replaces what cannot be decrypted."],
  },
  any: {
    "cannot be decrypted": [
      "quarantined",
      "The sealed value was changed, or its key is not in the ring. The values are kept.",
    ],
    "deprovision or refusal": [
      "erased",
      "Every ciphertext is erased; the row stays. A person's row is deleted with the last session.",
    ],
  },
} as const satisfies Moves<State>;

type KeyOf<Each> = Each extends Each ? keyof Each : never;
export type CredentialEvent = KeyOf<(typeof CREDENTIAL_MOVES)[keyof typeof CREDENTIAL_MOVES]>;

/** The state that an event leads to. Throws if the event is not possible in the state `from`. */
export function stateAfter(from: State, event: CredentialEvent): State {
  const moves: Moves<State> = CREDENTIAL_MOVES;
  const move = moves[from]?.[event] ?? moves.any?.[event];
  if (!move) throw new Error(`A credential in the state ${from} has no move for the event "${event}".`);
  return move[0];
}

/** How long a grant is tried after its arrival: its five minutes, and 5 s for clocks that differ. */
export const GRANT_SECONDS = 305;

/** A claim of a row. */
export interface Lease {
  uuid: string;
  lease: number;
}

/** The part of a row that decides what follows from a failed call. */
export interface Tries {
  owner: Owner;
  state: State;
  attempts: number;
  /** The platform may have issued tokens for this grant that did not arrive. */
  outcomeUnknown: boolean;
  /**
   * The time since the platform first refused this refresh token, or this code after its last call of unknown outcome, by
   * the database's clock; `null` without a refusal.
   */
  rejectedForSeconds: number | null;
  /** The time since the grant arrived; `null` if the row waits for no exchange. */
  grantAgeSeconds: number | null;
  sealedRefreshToken: Buffer | null;
}

/** What a row becomes after a call. */
export interface Verdict {
  /** The event that changes the state; `null` if the state stays. */
  on: CredentialEvent | null;
  reason: string | null;
  /** When the row is due again; `null` if it is not. */
  againInSeconds: number | null;
  /** Absent if the number stays. */
  attempts?: number;
  isRefused?: boolean;
  /** The platform may have issued tokens that did not arrive. */
  isUnknown?: boolean;
  error?: string;
}
