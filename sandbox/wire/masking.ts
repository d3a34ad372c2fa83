import type { World } from "../world/world.ts";

interface Call {
  path: string;
  request: { body: unknown };
  response: { status: number; body: unknown } | null;
}

/** Hides what must not be seen in anything that is shown: by the name of its member, and by its value. */
export interface Masking {
  mask<T>(value: T): T;
  /** A call with its bodies; in those of an app's config vars every value may be a secret. */
  maskCall<T extends Call>(call: T): T;
}

const MASK = "[secret]";
const secretNames =
  /^(access_token|refresh_token|client_secret|code|token|secret|password|resource_token|user_scoped_resource_token|log_drain_token|log_drain_url|log_input_url|cookie|set-cookie|client_?secret|addon_?password|sso_?salt)$/i;

/** Values are looked up word by word in the world's own tables, so the cost does not grow with their number. */
export function createMasking(world: World): Masking {
  const isKnown = (word: string) =>
    word.startsWith("SVCK-") ||
    [world.accessTokens, world.refreshTokens, world.grants, world.codes, world.clientSecrets].some((table) =>
      table.get(word),
    );

  function maskText(text: string): string {
    const { clientSecret, addonPassword, ssoSalt } = world.settings;
    let masked = text;
    for (const secret of [clientSecret, addonPassword, ssoSalt, ...world.formerClientSecrets]) {
      if (secret) masked = masked.replaceAll(secret, MASK).replaceAll(encodeURIComponent(secret), MASK);
    }
    return masked.replace(/[\w-]{20,}/g, (word) => (isKnown(word) ? MASK : word));
  }

  function maskMember(name: string, value: unknown, owner: object): unknown {
    if (value === null || value === undefined || value === "") return value;
    if (name.toLowerCase() === "authorization") return `${String(value).split(" ", 1)[0]} ${MASK}`;
    if (typeof value === "string" && secretNames.test(name)) return MASK;
    // A config var: its name may be seen, its value may hold anything.
    if (name === "value" && "name" in owner) return MASK;
    if (name === "config" && typeof value === "object" && !Array.isArray(value)) {
      return Object.fromEntries(Object.keys(value).map((variable) => [variable, MASK]));
    }
    return maskAny(value);
  }

  function maskAny(value: unknown): unknown {
    if (typeof value === "string") return maskText(value);
    if (Array.isArray(value)) return value.map(maskAny);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, maskMember(name, member, value)]),
    );
  }

  return {
    mask: <T>(value: T) => maskAny(value) as T,
    maskCall: (call) => maskAny(isOfConfigVars(call.path) ? withoutValues(call) : call) as typeof call,
  };
}

function isOfConfigVars(path: string): boolean {
  return /^\/apps\/[^/?]+\/config-vars\/?(\?|$)/i.test(path);
}

function withoutValues<T extends Call>(call: T): T {
  const { request, response } = call;
  const hide = (body: unknown) => {
    if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
    return Object.fromEntries(
      Object.entries(body).map(([name, value]) => [name, value === null ? null : MASK]),
    );
  };
  // A refusal names no value.
  const answered = response && response.status < 300 ? { ...response, body: hide(response.body) } : response;
  return { ...call, request: { ...request, body: hide(request.body) }, response: answered };
}
