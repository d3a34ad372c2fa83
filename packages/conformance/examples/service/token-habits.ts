import type { Resource, ServiceSettings } from "./types.ts";

export type TokenCall = "exchange" | "refresh";

/** One call to the token endpoint, as arguments of `fetch`. */
export interface TokenRequest {
  url: string;
  init: RequestInit;
}

/** How the service uses the token endpoint and the platform API. */
export const goodTokenHabits = {
  /** Whether the exchange begins with the request, instead of after its answer was sent. */
  exchangesBeforeAnswering: false,
  /** Whether codes are sent that must not be sent, or not again. */
  exchangesRefused: false,
  exchangesTwice: false as false | "afterwards" | "at once",
  exchangesRepeated: false,
  exchangesForTheGone: false,
  /** What stops when the resource is deprovisioned. */
  stopsExchanging: true,
  stopsRefreshing: true,
  /** Whether work that needs tokens ends with the resource. */
  stopsFinishing: true,
  /** Whether tokens are kept that arrive after the end. */
  keepsLateTokens: false,
  /** Whether tokens that are stored make a resource live again. */
  tokensRevive: false,
  /** How many ms it takes to store tokens. */
  storesAfterMs: 0,

  secretOf: ({ clientSecret }: ServiceSettings) => clientSecret,
  exchangeForm: (code: string, secret: string): Record<string, string> => ({
    grant_type: "authorization_code",
    code,
    client_secret: secret,
  }),
  refreshForm: ({ refreshToken }: Resource, secret: string): Record<string, string> => ({
    grant_type: "refresh_token",
    refresh_token: refreshToken!,
    client_secret: secret,
  }),
  /** `URLSearchParams` encodes the body as a form, and sets the content type. */
  request: (url: string, form: Record<string, string>, _kind: TokenCall): TokenRequest => ({
    url,
    init: { method: "POST", body: new URLSearchParams(form) },
  }),
  /** The client secret must not be sent to the target of a redirect. */
  redirect: "manual" as RequestInit["redirect"],
  /** A code is used up by the call, so aborting the call loses its tokens. */
  timeoutMs: (_kind: TokenCall) => 20_000,

  /** How many ms to wait after the n-th failed try; null: do not retry. Status 0: there was no answer. */
  waitMs(tries: number, _status: number, retryAfter: string | null, _kind: TokenCall | "api"): number | null {
    return Math.max(Math.min(100 * 2 ** tries, 10_000), Number(retryAfter ?? 0) * 1000);
  },
  /** The tokens of an answer; null if it has none, whatever its status. */
  tokensIn(
    status: number,
    body: unknown,
  ): { access_token: string; refresh_token?: string; expires_in?: number } | null {
    const isGood =
      status >= 200 && status < 300 && typeof (body as { access_token?: unknown })?.access_token === "string";
    return isGood ? (body as { access_token: string }) : null;
  },
  /** Half of the token's lifetime, in ms; a token lives 8 hours at most. */
  refreshAfterMs: (expiresIn = 28_800): number | null => Math.min(expiresIn, 28_800) * 500,
  refreshTokenAfter: (old: string | null, answered: string | undefined) => answered ?? old,
  /** After how many ms a second refresh is sent in parallel; null: never. */
  hedgeAfterMs: null as number | null,

  apiHeaders: ({ accessToken }: Resource, _settings: ServiceSettings): Record<string, string> => ({
    accept: "application/vnd.svc+json; version=3",
    authorization: `Bearer ${accessToken}`,
    "content-type": "application/json",
  }),
  /** The calls of an asynchronous provision that is done, in order. */
  finish: (uuid: string, config: Record<string, string>): ApiCall[] => [
    {
      method: "PATCH",
      path: `/addons/${uuid}/config`,
      body: { config: Object.entries(config).map(([name, value]) => ({ name, value })) },
    },
    { method: "POST", path: `/addons/${uuid}/actions/provision` },
  ],
  refreshesAt401: true,
  /** Whether a failed call is retried. */
  repeats: (_call: ApiCall) => true,
  /** Whether the next call is made after a failed one. */
  skips: (_call: ApiCall) => false,
};

export interface ApiCall {
  method: string;
  path: string;
  body?: object;
}
