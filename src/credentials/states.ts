import type { Moves } from "../resources/states.ts";

/** Whose credential it is: an add-on resource's, or that of a person who signed in. */
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

/** Those of a resource's credential: what operators and the metrics count. */
export const STATES_OF_RESOURCES = CREDENTIAL_STATES.filter(
  (state) => state !== "signed_in" && state !== "needs_sign_in",
);

/**
 * The life of a credential. A claim changes no state: it is a lease on the row. Nor does a client secret that the
 * platform rejects: that is about the secret, and holds back all of its credentials.
 */
export const CREDENTIAL_MOVES = {
  none: {
    "provision with a grant": [
      "grant_pending",
      "The code is exchanged once the platform has seen our answer, within five minutes.",
    ],
    "provision without a grant": ["no_grant", "The platform sent no code."],
    "sign-in": ["signed_in", "A person let us know who they are; their pair comes from the web flow."],
  },
  grant_pending: {
    exchanged: ["active", "The platform issued the first token pair for the code."],
    deadline: [
      "grant_lost",
      "For five minutes the platform refused the code, could not be reached, or its answer was lost.",
    ],
    spent: [
      "grant_lost",
      "A call's outcome is unknown, and the platform has refused the code twice since: it was exchanged.",
    ],
    "deadline, with an older pair": [
      "needs_reauth",
      "A grant that was to replace a refused refresh token is lost; the older pair stays.",
    ],
    "spent, with an older pair": ["needs_reauth", "The same, before the deadline."],
    "another code": ["grant_pending", "A repeated provision brings a new code, and its five minutes begin."],
  },
  grant_lost: {
    "another code": ["grant_pending", "A repeated provision brings one, or it is recovered."],
    "late tokens": ["active", "They were issued, and can be had only once."],
  },
  no_grant: {
    "another code": ["grant_pending", "A repeated provision brings one, or it is recovered."],
  },
  active: {
    refreshed: ["active", "Another access token, at half of its life."],
    "another code": ["grant_pending", "Recovered while the pair is refused."],
    "refused three times in a day": [
      "needs_reauth",
      "The refresh token was revoked; it is tried once a day.",
    ],
  },
  needs_reauth: {
    refreshed: ["active", "The platform takes the token after all, or a grant's tokens were stored late."],
    "another code": ["grant_pending", "A repeated provision brings one, or it is recovered."],
  },
  signed_in: {
    refreshed: ["signed_in", "As for a resource."],
    "sign-in": ["signed_in", "A new pair replaces the one before."],
    refused: [
      "needs_sign_in",
      "The platform refused the person's token; they sign in again, and no token of theirs is kept.",
    ],
  },
  needs_sign_in: {
    "sign-in": ["signed_in", "The person came back."],
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
      "The sealed value was changed, or its key is not in the ring. Nothing is erased.",
    ],
    "deprovision or refusal": [
      "erased",
      "Every ciphertext goes with it; the tombstone stays. A person's row is deleted with their last session.",
    ],
  },
} as const satisfies Moves<State>;

type KeyOf<Each> = Each extends Each ? keyof Each : never;
export type CredentialEvent = KeyOf<(typeof CREDENTIAL_MOVES)[keyof typeof CREDENTIAL_MOVES]>;

/** The state that an event leads to. Throws if it cannot happen in the state `from`. */
export function stateAfter(from: State, event: CredentialEvent): State {
  const moves: Moves<State> = CREDENTIAL_MOVES;
  const move = moves[from]?.[event] ?? moves.any?.[event];
  if (!move) throw new Error(`A credential that is ${from} has no move for: ${event}`);
  return move[0];
}

/** How long a grant is tried after its arrival: the five minutes that it lives, and 5 s for clocks that differ. */
export const GRANT_SECONDS = 305;

/** A claim of a row. */
export interface Lease {
  uuid: string;
  lease: number;
}

/** What is judged of a row when a call for it has failed. */
export interface Tries {
  owner: Owner;
  state: State;
  attempts: number;
  /** A call for this grant may have brought tokens that did not arrive. */
  outcomeUnknown: boolean;
  /**
   * Since the platform first refused this refresh token, or this code after its last call of unknown outcome, by the
   * database; null: it never did.
   */
  rejectedForSeconds: number | null;
  /** Since the grant came; null of a row that waits for none. */
  grantAgeSeconds: number | null;
  sealedRefreshToken: Buffer | null;
}

/** What becomes of the row. */
export interface Verdict {
  /** Null: it keeps its state. */
  on: CredentialEvent | null;
  reason: string | null;
  /** When it is due again; null: never. */
  againInSeconds: number | null;
  /** Absent: as before. */
  attempts?: number;
  isRefused?: boolean;
  /** The platform may have issued tokens that did not arrive. */
  isUnknown?: boolean;
  error?: string;
}
