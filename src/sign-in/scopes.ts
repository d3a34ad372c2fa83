/**
 * What a person is asked to allow unless a part of the service asks for more: who they are, nothing else (platform
 * document, "Scopes").
 */
export const DEFAULT_SCOPES: readonly string[] = ["identity"];

/** Scopes that let us ask who somebody is; without one of them nobody can sign in. */
const TELL_WHO: readonly string[] = ["identity", "global"];

/** What to ask for, so that it is known who signs in. */
export function scopesToAsk(wanted: readonly string[]): string[] {
  const scopes = [...new Set(wanted)];
  return scopes.some((each) => TELL_WHO.includes(each)) ? scopes : ["identity", ...scopes];
}

/** Whether what was given holds everything that is needed. */
export function isEnough(given: readonly string[], needed: readonly string[]): boolean {
  return given.includes("global") || needed.every((each) => given.includes(each));
}

const MEANINGS: Readonly<Record<string, string>> = {
  global: "read and change the whole account, its apps and its resources",
  identity: "read the account's name and e-mail",
  read: "read apps and resources, without account information and config vars",
  write: "change apps and resources, without account information and config vars",
  "read-protected": "read apps and resources with their config vars, without account information",
  "write-protected": "change apps and resources with their config vars, without account information",
};

/** What a scope lets us do, for a person; null for one that the platform added since. */
export function meaningOfScope(scope: string): string | null {
  return Object.hasOwn(MEANINGS, scope) ? MEANINGS[scope]! : null;
}
