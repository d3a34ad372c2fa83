/** Compared in lower case without `_` and `-`. */
const names = new Set(
  (
    "access_token refresh_token client_secret code code_verifier token secret password resource_token user_scoped_resource_token " +
    "log_drain_token log_drain_url log_input_url addon_password sso_salt cookie set_cookie " +
    "api_key api_token auth_key auth_token x_api_key x_api_token x_auth_key x_auth_token"
  )
    .split(" ")
    .map(squeezed),
);

/** Whether the name of a member, a header or a form field denotes a secret, such as `user[clientSecret]`. */
export function isSecretName(name: string): boolean {
  return name.split(/[[\].]+/).some((part) => names.has(squeezed(part)));
}

/**
 * Masks the values of such names in the query of every URL in a text, also if the URL is itself the value of another
 * member, raw or encoded once. The cost is linear in the length of the text.
 */
export function withoutSecretQuery(text: string, mask: string): string {
  return text.replace(/&?[^&\s]+/g, (part) => {
    const secret = secretIn(part);
    const isEncoded = secretIn(decoded(part.slice(0, secret?.start))) !== undefined;
    const shown = isEncoded ? /^[^=%]*=?/.exec(part)![0] : part.slice(0, secret?.valueStart);
    return isEncoded || secret ? shown + mask : part;
  });
}

/** Finds the first member with a secret name. Consumes only the name, because the value may contain further members. */
function secretIn(text: string): { start: number; valueStart: number } | undefined {
  for (const { 0: member, 1: name, index } of text.matchAll(/[?&;#=]([^=&?;#\s]+)(?==[^&\s])/g)) {
    if (isSecretName(decoded(name!))) return { start: index, valueStart: index + member.length + 1 };
  }
  return undefined;
}

/** Decodes percent-encoded ASCII, which is enough for names and separators. */
function decoded(text: string): string {
  return text.replace(/%([0-7][\da-f])/gi, (_code, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

function squeezed(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}
