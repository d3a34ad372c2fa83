import type { Sandbox } from "../index.ts";
import { client, type TokenBody } from "./world.ts";

export const CALLBACK = "https://monitor.example.com/callback";

export interface WebTokens extends TokenBody {
  user_id: string;
  session_nonce: string;
}

export interface Flow {
  scope?: string;
  user?: string;
}

/** A client of the web flow, and its way to tokens. */
export function aClient(sandbox: Sandbox, { name = "Monitor", redirectUri = CALLBACK } = {}) {
  const { id, secret } = sandbox.control.registerClient({ name, redirectUri });
  const { post } = client(sandbox);
  const authorizeUrl = (members: Record<string, string> = {}) => {
    const query = new URLSearchParams({ client_id: id, response_type: "code", state: "s-1", ...members });
    return `${sandbox.url}/oauth/authorize?${query}`;
  };
  /** The code in the redirect of a user who allows access. */
  const code = ({ scope = "global", user = "owner@example.com" }: Flow = {}) => {
    const location = sandbox.control.authorize({ url: authorizeUrl({ scope }), user });
    return new URL(location).searchParams.get("code") ?? "";
  };
  const exchange = (code: string, more: Record<string, string> = {}) =>
    post({ grant_type: "authorization_code", code, client_secret: secret, ...more });
  const refresh = (refresh_token: string, client_secret = secret) =>
    post({ grant_type: "refresh_token", refresh_token, client_secret });
  const tokens = async (flow?: Flow) => (await exchange(code(flow))).body as WebTokens;
  return { id, secret, authorizeUrl, code, exchange, refresh, tokens };
}
