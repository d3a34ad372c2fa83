/** What a credential's state means for its customer, and what an operator can do about it. */
interface Advice {
  what: string;
  todo: string;
}

const GET_A_GRANT =
  "Ask the platform to deliver the provision again. Or ask it to open its oauth-grant endpoint for your add-on, set LEGACY_GRANTS=on, and run kit grants recover.";
const UNREADABLE = "the stored credential cannot be decrypted.";

/** By state, or by state and reason: the same as docs/operate.md says of each alarm. */
const ADVICE: Readonly<Record<string, Advice>> = {
  grant_lost: {
    what: "the grant ended without tokens. Config vars stay, and cannot be changed.",
    todo: GET_A_GRANT,
  },
  no_grant: {
    what: "the provision came without a grant. It works, but its config vars cannot be changed, and one that was put off fails after 11 hours.",
    todo: GET_A_GRANT,
  },
  needs_reauth: {
    what: "the platform refused the refresh token for a day; it was revoked.",
    todo: "Ask the platform's support. The service asks again once a day; named by its uuid, kit tokens refresh tries it at once.",
  },
  quarantined: { what: UNREADABLE, todo: "kit resources show UUID says why." },
  "quarantined integrity": {
    what: UNREADABLE,
    todo: "The row was changed: find out who wrote to the database. If the refresh token can still be decrypted, kit tokens refresh UUID may bring fresh tokens.",
  },
  "quarantined key_missing": {
    what: UNREADABLE,
    todo: "Put the missing key into DECRYPTION_KEYS and restart: the service uses it again by itself. kit doctor says which key is missing.",
  },
};

/** Null for a state in which nothing has to be done. */
export function adviceOn(state: string, reason?: unknown): Advice | null {
  return ADVICE[`${state} ${String(reason)}`] ?? ADVICE[state] ?? null;
}
