/**
 * What a person is asked to allow unless a part of the service needs more: to read who they are, nothing else (platform
 * document, "Scopes").
 */
export const DEFAULT_SCOPES: readonly string[] = ["identity"];

/** The scopes to request: those wanted, and always `identity`; with none the platform would grant everything. */
export function scopesToAsk(wanted: readonly string[]): string[] {
  return [...new Set(["identity", ...wanted])];
}

/** Whether the granted scopes include all that are needed. */
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

/** What a scope allows this service to do, as text for a person; null for a scope that the kit does not know. */
export function meaningOfScope(scope: string): string | null {
  return Object.hasOwn(MEANINGS, scope) ? MEANINGS[scope]! : null;
}
