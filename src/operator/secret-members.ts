import { isJsonObject } from "../json-object.ts";

const HIDDEN = "[secret]";

/** Names of members of the platform's answers that hold a secret, or an address at which logs can be read or written. */
const SECRET =
  /^(.*_?token|.*secret|code|password|session_nonce|log_(input|drain)_url|authorization|(set-)?cookie)$/i;

/** `vars`: an object of names and values of config vars, any of which may be secret. */
type Kind = "open" | "secret" | "vars";

/**
 * Removes from an answer what is secret by its place: members with such names, the address of a log drain, and the
 * values of config vars. `scrub` is applied to all other texts, and to the names of members.
 */
export function withoutSecretMembers(
  value: unknown,
  scrub: (text: string) => string,
  kind: Kind = "open",
): unknown {
  if (typeof value === "string") return kind === "secret" && value !== "" ? HIDDEN : scrub(value);
  if (Array.isArray(value))
    return value.map((each) => withoutSecretMembers(each, scrub, kind === "vars" ? "open" : kind));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    scrub(name),
    withoutSecretMembers(member, scrub, kind === "vars" ? "secret" : kindOf(name, value)),
  ]);
  return Object.fromEntries(members) as object;
}

function kindOf(name: string, owner: object): Kind {
  if (name === "config") return "vars";
  // `value` beside `name` belongs to a config var; `url` beside `token` to a log drain.
  const isSecret = name === "value" ? "name" in owner : name === "url" ? "token" in owner : SECRET.test(name);
  return isSecret ? "secret" : "open";
}
