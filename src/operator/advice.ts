/** What a credential's state means for its customer, and what an operator can do about it. */
export interface Advice {
  /** `bad`: something is, or will be, lost for customers. */
  urgency: "bad" | "wait";
  what: string;
  todo: string;
}

const GET_A_GRANT =
  "Ask the platform to deliver the provision again. Or ask it to open its oauth-grant endpoint for your add-on, set LEGACY_GRANTS=on, and run kit grants recover.";
const quarantined = { urgency: "bad", what: "the stored credential cannot be decrypted." } as const;

/** By state, or by state and reason: the same as docs/operate.md says of each alarm. */
const ADVICE: Readonly<Record<string, Advice>> = {
  grant_lost: {
    urgency: "bad",
    what: "the grant ended without tokens. Config vars stay, and cannot be changed.",
    todo: GET_A_GRANT,
  },
  no_grant: {
    urgency: "wait",
    what: "the provision came without a grant. It works, but its config vars cannot be changed, and one that was put off fails after 11 hours.",
    todo: GET_A_GRANT,
  },
  needs_reauth: {
    urgency: "bad",
    what: "the platform refused the refresh token for a day; it was revoked.",
    todo: "Ask the platform's support. The service asks again once a day; named by its uuid, kit tokens refresh tries it at once.",
  },
  quarantined: {
    ...quarantined,
    todo: "kit resources show UUID says why: for key_missing kit doctor names the key; for integrity kit tokens refresh UUID may bring fresh tokens.",
  },
  "quarantined key_missing": {
    ...quarantined,
    todo: "Put the missing key into DECRYPTION_KEYS and restart: the service uses it again by itself. kit doctor says which key is missing.",
  },
  "quarantined integrity": {
    ...quarantined,
    todo: "The row was changed: find out who wrote to the database. If the refresh token can still be decrypted, kit tokens refresh UUID may bring fresh tokens.",
  },
};

/** Null for a state in which nothing has to be done. */
export function adviceOn(state: string, reason?: unknown): Advice | null {
  return ADVICE[`${state} ${String(reason)}`] ?? ADVICE[state] ?? null;
}
