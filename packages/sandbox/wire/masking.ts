import { isObject } from "../is-object.ts";
import type { World } from "../world/world.ts";
import { isSecretName, withoutSecretQuery } from "./secret-names.ts";

interface Call {
  direction: "in" | "out";
  path: string;
  request: { body: unknown };
  response: { status: number; body: unknown } | null;
}

/** Masks secrets in everything that is shown: by the name of their member, and by their value. */
export interface Masking {
  /** Where secrets may be anywhere in the bodies, only members known to be harmless stay visible. */
  maskCall<T extends Call>(call: T): T;
}

const MASK = "[secret]";
/**
 * Headers with credentials. Of their value only the scheme stays visible; a first word that is no known scheme may be
 * the secret itself.
 */
const credentialNames = /^(proxy-)?authorization$/i;
const scheme = /^\s*(basic|bearer)\s+\S/i;

/** Looks values up word by word in the world's tables, so the cost does not grow with the number of secrets. */
export function createMasking(world: World): Masking {
  const isKnown = (word: string) =>
    word.startsWith("SVCK-") ||
    [world.accessTokens, world.refreshTokens, world.grants, world.codes, world.clientSecrets].some((table) =>
      table.get(word),
    );

  function maskText(text: string): string {
    const { clientSecret, addonPassword, ssoSalt, token } = world.settings;
    let masked = text;
    for (const secret of [clientSecret, addonPassword, ssoSalt, token, ...world.formerClientSecrets]) {
      if (secret) masked = masked.replaceAll(secret, MASK).replaceAll(encodeURIComponent(secret), MASK);
    }
    masked = masked.replace(/[\w-]{20,}/g, (word) => (isKnown(word) ? MASK : word));
    return withoutSecretQuery(masked, MASK);
  }

  function maskMember(name: string, value: unknown, owner: object): unknown {
    if (value === null || value === undefined || value === "") return value;
    if (credentialNames.test(name)) return [scheme.exec(String(value))?.[1], MASK].filter(Boolean).join(" ");
    if (isSecretName(name)) return typeof value === "object" ? maskAny(valuesHidden(value, true)) : MASK;
    // A config var: its name may be shown, but its value may be a secret.
    if (name === "value" && "name" in owner) return MASK;
    return maskAny(name === "config" ? valuesHidden(value, Array.isArray(value)) : value);
  }

  function maskAny(value: unknown): unknown {
    if (typeof value === "string") return maskText(value);
    if (Array.isArray(value)) return value.map(maskAny);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, maskMember(name, member, value)]),
    );
  }

  return { maskCall: (call) => maskAny(mayHoldSecrets(call) ? withoutSecrets(call) : call) as typeof call };
}

const secretPath = /^\/(?:apps|addons)\/[^/?]+\/(?:config|config-vars|log-drains)(?=[/?]|$)/i;
const configVarsPath = /^\/apps\/[^/?]+\/config-vars(?=[/?]|$)/i;
const drainPath = /^(\/(?:apps|addons)\/[^/?]+\/log-drains)(?:\/([^?]*[^/?]))?/i;

/** Whether secrets may be anywhere in the bodies of a call: in config vars, and in the addresses of log drains. */
export function mayHoldSecrets({ direction, path }: Pick<Call, "direction" | "path">): boolean {
  return direction === "out" ? path !== "/sso/login" : secretPath.test(path);
}

function withoutSecrets<T extends Call>(call: T): T {
  const { request, response } = call;
  const { path, secret } = withoutAddress(call.path);
  const isOfVars = configVarsPath.test(path);
  // A text was already replaced by its size.
  const hide = (body: unknown, isDocumented: boolean) =>
    typeof body === "string" ? body : valuesHidden(body, isDocumented);
  // An app's config vars have their names as members, which are not documented ones; a refusal contains no value.
  const answer = response && hide(response.body, !isOfVars || response.status >= 300);
  // A refusal may repeat the path.
  if (secret !== null && isObject(answer) && typeof answer["message"] === "string")
    answer["message"] = answer["message"].replaceAll(secret, MASK);
  return {
    ...call,
    path,
    request: { ...request, body: hide(request.body, !isOfVars) },
    response: response && { ...response, body: answer },
  };
}

/**
 * A drain's address may hold a user name and a password, and the path may name the drain by its address or by its
 * token.
 */
function withoutAddress(path: string): { path: string; secret: string | null } {
  const [, drains, drain] = drainPath.exec(path) ?? [];
  if (drains === undefined) return { path, secret: null };
  if (drain === undefined || /^[\da-f-]{36}$/i.test(drain))
    return { path: path.split("?")[0]!, secret: null };
  return { path: `${drains}/${MASK}`, secret: drain };
}

/** The members of the documented bodies that hold no secret, and the documented members that contain such members. */
const plainNames =
  /^(id|uuid|name|plan|region|type|state|message|callback_url|expires_at|expires_in|created_at|updated_at)$/;
const partNames = /^(oauth_grant|addon|app)$/;

/** Keeps the names of all members, but only the values of documented harmless ones: the others may be secrets. */
function valuesHidden(value: unknown, isDocumented: boolean): unknown {
  if (value === null || value === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => valuesHidden(item, isDocumented));
  if (!isObject(value)) return MASK;
  const shown = ([name, member]: [string, unknown]) => {
    if (isDocumented && plainNames.test(name) && typeof member !== "object") return [name, member];
    // Config is a list of names and values, or an object with the names as members.
    const isPart = partNames.test(name) || (name === "config" && Array.isArray(member));
    return [name, valuesHidden(member, isDocumented && isPart)];
  };
  return Object.fromEntries(Object.entries(value).map(shown));
}
