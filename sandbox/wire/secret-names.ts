const names =
  /^(access_token|refresh_token|client_secret|code|token|secret|password|resource_token|user_scoped_resource_token|log_drain_token|log_drain_url|log_input_url|cookie|set-cookie|client_?secret|addon_?password|sso_?salt|(x-)?(api|auth)[-_]?(key|token))$/i;

/** Whether a member, a header or a field of a form holds a secret, by its name; `client_secret[]` does too. */
export function isSecretName(name: string): boolean {
  return name.split(/[[\]]+/).some((part) => names.test(part));
}

/** Hides the values of such names in the query of every address that stands in a text. */
export function withoutSecretQuery(text: string, mask: string): string {
  return text.replace(/([?&;#]([^=&?;#\s]+)=)[^&\s]+/g, (member, start: string, name: string) =>
    isSecretName(decoded(name)) ? start + mask : member,
  );
}

function decoded(name: string): string {
  return [...new URLSearchParams(`${name}=`).keys()].join();
}
