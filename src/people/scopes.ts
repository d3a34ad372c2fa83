/**
 * What a person is asked to allow: to read who they are, nothing else (platform document, "Scopes"). With none the
 * platform would grant everything.
 */
export const SCOPES: readonly string[] = ["identity"];

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
