import type { Move } from "../resources/states.ts";

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
export const CREDENTIAL_MOVES = [
  {
    ...{ from: "none", on: "provision with a grant", to: "grant_pending" },
    why: "The code is exchanged once the platform has seen our answer, within five minutes.",
  },
  { from: "none", on: "provision without a grant", to: "no_grant", why: "The platform sent no code." },
  {
    ...{ from: "grant_pending", on: "exchanged", to: "active" },
    why: "The platform issued the first token pair for the code.",
  },
  {
    ...{ from: "grant_pending", on: "deadline", to: "grant_lost" },
    why: "For five minutes the platform refused the code, could not be reached, or its answer was lost.",
  },
  {
    ...{ from: "grant_pending", on: "deadline, with an older pair", to: "needs_reauth" },
    why: "A grant that was to replace a refused refresh token is lost; the older pair stays.",
  },
  {
    ...{ from: "grant_pending", on: "another code", to: "grant_pending" },
    why: "A repeated provision brings a new code, and its five minutes begin.",
  },
  { from: "grant_lost", on: "another code", to: "grant_pending", why: "Delivered again, or recovered." },
  { from: "no_grant", on: "another code", to: "grant_pending", why: "Delivered again, or recovered." },
  { from: "active", on: "another code", to: "grant_pending", why: "Recovered while the pair is refused." },
  { from: "needs_reauth", on: "another code", to: "grant_pending", why: "Recovered by an operator." },
  { from: "grant_lost", on: "late tokens", to: "active", why: "They were issued, and can be had only once." },
  { from: "active", on: "refreshed", to: "active", why: "Another access token, at half of its life." },
  {
    ...{ from: "active", on: "refused three times in a day", to: "needs_reauth" },
    why: "The refresh token was revoked; it is tried once a day.",
  },
  { from: "needs_reauth", on: "refreshed", to: "active", why: "The platform takes the token after all." },
  {
    ...{ from: "none", on: "sign-in", to: "signed_in" },
    why: "A person let us know who they are; their pair comes from the web flow.",
  },
  { from: "signed_in", on: "refreshed", to: "signed_in", why: "As for a resource." },
  { from: "signed_in", on: "sign-in", to: "signed_in", why: "A new pair replaces the one before." },
  {
    ...{ from: "signed_in", on: "refused", to: "needs_sign_in" },
    why: "The platform refused the person's token; they sign in again, and no token of theirs is kept.",
  },
  { from: "needs_sign_in", on: "sign-in", to: "signed_in", why: "The person came back." },
  {
    ...{ from: "needs_sign_in", on: "late tokens", to: "signed_in" },
    why: "A pair that replaced the refused one was held in memory until now.",
  },
  {
    ...{ from: "any", on: "cannot be decrypted", to: "quarantined" },
    why: "The sealed value was changed, or its key is not in the ring. Nothing is erased.",
  },
  { from: "quarantined", on: "key is back for a code", to: "grant_pending", why: "The row holds a code." },
  { from: "quarantined", on: "key is back for a pair", to: "active", why: "The row holds a pair." },
  {
    from: "quarantined",
    on: "key is back for a person",
    to: "signed_in",
    why: "The row holds a person's pair.",
  },
  {
    from: "quarantined",
    on: "another code",
    to: "grant_pending",
    why: "Only a code that was never exchanged.",
  },
  { from: "quarantined", on: "refreshed", to: "active", why: "The refresh token could be decrypted." },
  {
    from: "quarantined",
    on: "sign-in",
    to: "signed_in",
    why: "A new pair replaces what cannot be decrypted.",
  },
  {
    ...{ from: "any", on: "deprovision or refusal", to: "erased" },
    why: "Every ciphertext goes with it; the tombstone stays. A person's row is deleted with their last session.",
  },
] as const satisfies readonly Move<State>[];

export type CredentialEvent = (typeof CREDENTIAL_MOVES)[number]["on"];

/** The state that an event leads to. Throws if it cannot happen in the state `from`. */
export function stateAfter(from: State, event: CredentialEvent): State {
  const move = CREDENTIAL_MOVES.find(
    (each) => each.on === event && (each.from === from || each.from === "any"),
  );
  if (!move) throw new Error(`A credential that is ${from} has no move for: ${event}`);
  return move.to;
}
