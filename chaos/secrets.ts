import type { LedgerEntry } from "../sandbox/index.ts";

/** Shorter texts are words. */
const SHORTEST = 16;
const SECRET_MEMBERS = ["access_token", "refresh_token", "code", "client_secret", "authorization", "value"];

/** Every secret that went over the wire, by the names of the members that carry them. */
export function secretsOf(entries: readonly LedgerEntry[]): Set<string> {
  const secrets = new Set<string>();
  const look = (value: unknown, name: string) => {
    if (typeof value === "string") {
      const secret = value.replace(/^(Bearer|Basic) /, "");
      if (
        SECRET_MEMBERS.includes(name.toLowerCase()) &&
        secret.length >= SHORTEST &&
        !/^https?:/.test(secret)
      )
        secrets.add(secret);
    } else if (typeof value === "object" && value !== null) {
      for (const [member, inner] of Object.entries(value)) look(inner, Array.isArray(value) ? name : member);
    }
  };
  for (const { request, response } of entries) [request, response].forEach((message) => look(message, ""));
  // What the platform answers with a word, and no secret.
  return secrets;
}

/** The parts of a text that may be tokens, keys or codes. */
export function tokensIn(text: string): string[] {
  return text.match(/[\w.~+/=-]{16,}/g) ?? [];
}
