import { invalid } from "../refusal.ts";

/** The ability that a call requires of a user's token. */
export type Ability = "account" | "read" | "write" | "read secrets" | "write secrets" | "manage access";

interface Scope {
  /** Shown to the person who is asked. */
  meaning: string;
  abilities: Ability[];
}

/**
 * "Scopes" of the platform document. Writing includes reading, because the answer to a write shows what was written.
 * Config variables are the runtime secrets.
 */
export const scopes: Record<string, Scope> = {
  global: {
    meaning: "Read and change everything: your account, your apps and resources, their config variables.",
    abilities: ["account", "read", "write", "read secrets", "write secrets", "manage access"],
  },
  identity: { meaning: "See who you are: your account information, read-only.", abilities: ["account"] },
  read: {
    meaning: "See your apps and resources, but neither your account nor config variables.",
    abilities: ["read"],
  },
  write: {
    meaning: "See and change your apps and resources, but neither your account nor config variables.",
    abilities: ["read", "write"],
  },
  "read-protected": {
    meaning: "See your apps and resources with their config variables and secrets, but not your account.",
    abilities: ["read", "read secrets"],
  },
  "write-protected": {
    meaning:
      "See and change your apps and resources with their config variables and secrets, but not your account.",
    abilities: ["read", "write", "read secrets", "write secrets"],
  },
};

/** The names in the `scope` of an address, separated by spaces or commas (assumed, section 7). */
export function scopesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== "");
}

/** The requested names without duplicates; `global` if there are none: a scope only restricts. Throws at an unknown one. */
export function checkScope(names: string[]): string[] {
  const unknown = names.find((name) => !Object.hasOwn(scopes, name));
  if (unknown !== undefined) {
    throw invalid(`There is no scope "${unknown}"; there are ${Object.keys(scopes).join(", ")}.`);
  }
  return names.length === 0 ? ["global"] : [...new Set(names)];
}

export function allows(scope: string[], ability: Ability): boolean {
  return scope.some((name) => scopes[name]?.abilities.includes(ability));
}

/** The scopes that include an ability, named in error messages. */
export function scopesThatAllow(ability: Ability): string[] {
  return Object.keys(scopes).filter((name) => allows([name], ability));
}
