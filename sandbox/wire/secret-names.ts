/** Compared without what stands between the words. */
const names = new Set(
  (
    "access_token refresh_token client_secret code token secret password resource_token user_scoped_resource_token " +
    "log_drain_token log_drain_url log_input_url addon_password sso_salt cookie set_cookie " +
    "api_key api_token auth_key auth_token x_api_key x_api_token x_auth_key x_auth_token"
  )
    .split(" ")
    .map(squeezed),
);

/** Whether a member, a header or a field of a form holds a secret, by its name; `user[clientSecret]` does too. */
export function isSecretName(name: string): boolean {
  return name.split(/[[\].]+/).some((part) => names.has(squeezed(part)));
}

/**
 * Hides the values of such names in the query of every address that stands in a text, also where that address is the
 * value of another's member, as it is or encoded once. The cost grows with the text alone, whatever stands in it.
 */
export function withoutSecretQuery(text: string, mask: string): string {
  return text.replace(/&?[^&\s]+/g, (part) => {
    const secret = secretIn(part);
    const isEncoded = secretIn(decoded(part.slice(0, secret?.start))) !== undefined;
    const shown = isEncoded ? /^[^=%]*=?/.exec(part)![0] : part.slice(0, secret?.valueStart);
    return isEncoded || secret ? shown + mask : part;
  });
}

/** Of each member only the name is taken, for the value may hold members of its own. */
function secretIn(text: string): { start: number; valueStart: number } | undefined {
  for (const { 0: member, 1: name, index } of text.matchAll(/[?&;#=]([^=&?;#\s]+)(?==[^&\s])/g)) {
    if (isSecretName(decoded(name!))) return { start: index, valueStart: index + member.length + 1 };
  }
  return undefined;
}

/** As far as names and what stands around them can be encoded: in ASCII. */
function decoded(text: string): string {
  return text.replace(/%([0-7][\da-f])/gi, (_code, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

function squeezed(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}
