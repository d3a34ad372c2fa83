import type { LedgerEntry } from "../../packages/sandbox/index.ts";

/** Shorter texts may be ordinary words. */
const SHORTEST = 16;
const SECRET_MEMBERS = ["access_token", "refresh_token", "code", "client_secret", "authorization", "value"];

/** Every secret that went over the wire, found by the names of the members that carry it. */
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
      // In the answer to a provision every member of `config` is a config var, whatever its name.
      for (const [member, inner] of Object.entries(value))
        look(inner, Array.isArray(value) ? "" : name === "config" ? "value" : member);
    }
  };
  for (const { request, response } of entries) [request, response].forEach((message) => look(message, ""));
  return secrets;
}

/**
 * The parts of a call that must hold no secret: the address and the headers of the service's own calls, except
 * Authorization; and the headers of its answers, with the body if it is a refusal.
 */
export function openPartsOf({ direction, path, request, response }: LedgerEntry): string {
  if (direction === "in") return JSON.stringify([path, { ...request.headers, authorization: null }]);
  return JSON.stringify([response?.headers, (response?.status ?? 0) >= 300 ? response?.body : null]);
}

/**
 * Returns a function that tells whether a text contains one of the secrets. The secrets are indexed by their beginning,
 * so the search looks at each position of the text once, however many secrets there are.
 */
export function createSearch(secrets: Iterable<string>): (text: string) => boolean {
  const byBeginning = new Map<string, string[]>();
  for (const secret of secrets) {
    const beginning = secret.slice(0, SHORTEST);
    byBeginning.set(beginning, [...(byBeginning.get(beginning) ?? []), secret]);
  }
  return (text) => {
    for (let at = 0; at + SHORTEST <= text.length; at++) {
      const alike = byBeginning.get(text.slice(at, at + SHORTEST));
      if (alike?.some((secret) => text.startsWith(secret, at))) return true;
    }
    return false;
  };
}
