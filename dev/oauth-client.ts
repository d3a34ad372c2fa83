import type { Control } from "../packages/sandbox/index.ts";
import type { Config } from "../src/config.ts";
import { Secret } from "../src/secret.ts";

/** The settings with which people can sign in. */
export type OAuthClient = Required<Pick<Config, "oauthClientId" | "oauthClientSecret">>;

/** The OAuth client of the last run, or a new one if this platform does not know it or its redirect URI differs. */
export function oauthClient(control: Control, config: Config): OAuthClient {
  const { oauthClientId, oauthClientSecret, publicUrl = `http://localhost:${config.port}` } = config;
  const redirectUri = `${publicUrl}/oauth/callback`;
  const known = control.state().clients.find(({ id }) => id === oauthClientId);
  if (known?.redirect_uri === redirectUri) return { oauthClientId, oauthClientSecret };
  const { id, secret } = control.registerClient({ name: config.addonId, redirectUri, isPartners: true });
  return { oauthClientId: id, oauthClientSecret: new Secret(secret) };
}
