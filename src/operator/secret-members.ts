import { isJsonObject } from "../json-object.ts";

const HIDDEN = "[secret]";

/**
 * Names of members of the platform's answers that hold a secret, or an address at which logs can be read or written.
 */
const SECRET =
  /^(.*_?token|.*secret|code|password|session_nonce|log_(input|drain)_url|authorization|(set-)?cookie)$/i;

/**
 * Removes from an answer what is secret by its place: members with such names, the address of a log drain, and the
 * values of config vars. Other members stay as they are.
 */
export function withoutSecretMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecretMembers);
  return isJsonObject(value) ? withEachMember(value, withoutSecret) : value;
}

/** Hides the values of config vars in an object of names and values: any of them may be secret. */
export function withoutValues(vars: unknown): unknown {
  return isJsonObject(vars) ? withEachMember(vars, hidden) : withoutSecretMembers(vars);
}

function withoutSecret(member: unknown, name: string, owner: object): unknown {
  if (name === "config") return withoutValues(member);
  return isSecret(name, owner) ? hidden(member) : withoutSecretMembers(member);
}

function isSecret(name: string, owner: object): boolean {
  // `value` beside `name` belongs to a config var; `url` beside `token` to a log drain.
  if (name === "value") return "name" in owner;
  if (name === "url") return "token" in owner;
  return SECRET.test(name);
}

/** A value that is not a text may contain texts. */
function hidden(value: unknown): unknown {
  if (typeof value === "string") return value === "" ? value : HIDDEN;
  return Array.isArray(value) ? value.map(hidden) : withoutSecretMembers(value);
}

function withEachMember(
  value: object,
  change: (member: unknown, name: string, owner: object) => unknown,
): object {
  const members = Object.entries(value) as [string, unknown][];
  return Object.fromEntries(members.map(([name, member]) => [name, change(member, name, value)]));
}
