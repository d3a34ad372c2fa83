import { counted } from "../amounts.ts";

export { counted };

/** Rows are counted up to this number; beyond it the exact number does not matter. */
export const MOST_COUNTED = 10_000;

/** "1 row", "2 rows", "10000 rows or more". */
export function countedToMost(count: number, thing: string): string {
  return count < MOST_COUNTED ? counted(count, thing) : `${counted(MOST_COUNTED, thing)} or more`;
}

/** `words` with a full stop, unless they end as a sentence does. */
export const sentence = (words: string): string => (/[.!?…]$/.test(words) ? words : `${words}.`);

/** A tombstone has no plan if the platform only ever sent a deprovision for it. */
export function planInWords(plan: string): string {
  return plan === "" ? "never provisioned" : plan;
}

/** In one unit: 40 s, 12 min, 3 h, 4 days. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

export const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** UTC: 2026-01-31 12:00:00. */
export function moment(iso: string): string {
  return iso.slice(0, 19).replace("T", " ");
}

/** In 3 h, 3 h ago, or now. */
export function distance(iso: string, nowMs: number): string {
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1_000);
  const away = duration(Math.abs(seconds));
  return seconds === 0 ? "now" : seconds < 0 ? `${away} ago` : `in ${away}`;
}

/** 2026-01-31 12:00:00 (in 3 h). */
export function momentAway(iso: string, nowMs = Date.now()): string {
  return `${moment(iso)} (${distance(iso, nowMs)})`;
}

/** Something to be known, by its name: a time is ISO 8601, and null stands for none. */
export type NamedFact = readonly [name: string, fact: string | number | null | undefined];

/** Of a list, for people. */
export const MOST_SHOWN = 20;

export function some<Item>(items: readonly Item[], tell: (item: Item) => string): string[] {
  const more = items.length - MOST_SHOWN;
  return [...items.slice(0, MOST_SHOWN).map(tell), ...(more > 0 ? [`  … and ${more} more`] : [])];
}

/** What a credential's state means for its customer, and what an operator can do about it. */
interface Advice {
  what: string;
  todo: string;
}

const GET_A_GRANT =
  "Ask the platform to deliver the provision again. Or ask it to open its oauth-grant endpoint for your add-on, set LEGACY_GRANTS=on, and run kit grants recover.";
const UNREADABLE = "the stored credential cannot be decrypted.";

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

export const GONE: Advice = {
  what: "the platform no longer has the add-on. The resource stays as it is, and its refreshes pause.",
  todo: "Is it really gone? kit reconcile asks again. If it is: kit resources erase UUID, which also takes it down in your backend.",
};

/** Null for a state in which nothing has to be done. */
export function adviceOn(state: string, reason?: unknown): Advice | null {
  return ADVICE[`${state} ${String(reason)}`] ?? ADVICE[state] ?? null;
}
