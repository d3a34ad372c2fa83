import { randomBytes } from "node:crypto";
import type { AddonManifest } from "./addon-manifest.ts";

/** What the platform knows about its partner; `PUT /sandbox/partner` changes it at run time. */
export interface PartnerSettings {
  partnerUrl: string;
  resourcesPath: string;
  addonId: string;
  addonPassword: string;
  clientSecret: string;
  ssoSalt: string | null;
  /** Null: any plan and any config var name is accepted. */
  addonManifest: AddonManifest | null;
}

/** How the platform behaves where its document leaves a choice; `POST /sandbox/settings` changes it at run time. */
export interface BehaviourSettings {
  refreshStatus: 200 | 201;
  refreshToken: "same" | "new" | "none";
  /** A code that is exchanged again gets the same tokens instead of an error. */
  replayTokens: boolean;
  /**
   * What the token endpoint refuses with a 401 `{id: "unauthorized", message}` in place of the words of RFC 6749:
   * nothing, codes and refresh tokens that are no good, or a wrong client secret too.
   */
  plain401: "never" | "tokens" | "always";
  /** Whether a code challenge (RFC 7636) binds a code of the web flow, must do so, or is not looked at. */
  pkce: "honoured" | "required" | "ignored";
  /** The `expires_in` that is sent, in seconds. A token never lives longer than 8 hours. */
  expiresIn: number;
  mediaType: string;
  /** Accepts a provision that is answered with 201 like one with 200. The document says "a success code". */
  acceptCreated: boolean;
  /** Opens the legacy oauth-grant endpoint. */
  legacyGrants: boolean;
  /** How many ms after the platform has received the partner's answer the grant becomes exchangeable. */
  acceptDelayMs: number;
  /** False: every call on a team's app fails, but for a user's own token; lists leave the app out. */
  thirdPartyOAuth: boolean;
  /** Size of each token's bucket; it refills by 75 a minute. */
  rateLimit: number;
  /** Further endpoints enabled for this partner: method, space, path with `*` for ids. They answer an empty list. */
  extraEndpoints: string[];
  /**
   * How often the platform delivers a provision request again that got no answer at all. A delivery that was cut off
   * because the sandbox ended does not count: the next sandbox on the same state file delivers it up to 12 times.
   */
  redeliveries: number;
  /**
   * Answers customers' calls too, as their command line makes them: with any token where the pages demand none, else with
   * the sandbox's token.
   */
  customerApi: boolean;
  /** How often the status feed is refreshed, in seconds; 0: at once. The platform's document says 30. */
  statusRefreshSeconds: number;
}

export interface SandboxSettings extends PartnerSettings, BehaviourSettings {
  /** 0: any free port. */
  port: number;
  /** Any but a loopback address demands the token. */
  host: string;
  /** What the control API, the pages and the authorize page demand; null: nothing. */
  token: string | null;
  /** The file that keeps the state across restarts; null: in memory only. */
  statePath: string | null;
  ledgerSize: number;
  partnerTimeoutMs: number;
}

export const defaultBehaviour: BehaviourSettings = {
  refreshStatus: 201,
  refreshToken: "same",
  replayTokens: false,
  plain401: "never",
  pkce: "honoured",
  expiresIn: 28_800,
  mediaType: "application/vnd.svc+json; version=3",
  acceptCreated: false,
  legacyGrants: false,
  acceptDelayMs: 0,
  thirdPartyOAuth: true,
  rateLimit: 4500,
  extraEndpoints: [],
  redeliveries: 0,
  customerApi: false,
  statusRefreshSeconds: 0,
};

/** Whether a host name means this machine alone; an IPv6 address may be in brackets. */
export function isLoopback(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\]|::1)$/i.test(host);
}

/** Completes the given settings with defaults; missing credentials are generated. */
export function completeSettings(given: Partial<SandboxSettings>): SandboxSettings {
  return {
    ...defaultBehaviour,
    port: 0,
    host: "127.0.0.1",
    token: isLoopback(given.host ?? "127.0.0.1") ? null : randomBytes(24).toString("hex"),
    statePath: null,
    ledgerSize: 10_000,
    partnerTimeoutMs: 20_000,
    partnerUrl: "http://localhost:3000",
    resourcesPath: "/resources",
    addonId: given.addonManifest?.id ?? "your-addon",
    addonPassword: randomBytes(16).toString("hex"),
    clientSecret: randomBytes(32).toString("hex"),
    ssoSalt: null,
    addonManifest: null,
    ...given,
  };
}
