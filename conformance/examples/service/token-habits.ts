import type { Resource, ServiceSettings } from "./types.ts";

export type TokenCall = "exchange" | "refresh";

/** One call to the token endpoint, as `fetch` takes it. */
export interface TokenRequest {
  url: string;
  init: RequestInit;
}

/** How the service deals with the token endpoint and the platform API. */
export const goodTokenHabits = {
  /** When the exchange begins: with the request, or after its answer has gone out. */
  exchangesBeforeAnswering: false,
  /** Codes that must not be sent, or not again. */
  exchangesRefused: false,
  exchangesTwice: false,
  exchangesRepeated: false,
  exchangesForTheGone: false,
  /** What ends with the resource. */
  stopsExchanging: true,
  stopsRefreshing: true,

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
  /** `URLSearchParams` encodes as a form does, and sets the content type. */
  request: (url: string, form: Record<string, string>, _kind: TokenCall): TokenRequest => ({
    url,
    init: { method: "POST", body: new URLSearchParams(form) },
  }),
  /** The client secret must not follow a redirect. */
  redirect: "manual" as RequestInit["redirect"],
  /** A code is used up by the call, so hanging up loses its tokens. */
  timeoutMs: (_kind: TokenCall) => 20_000,

  /** How long to wait after the n-th failed try; null: never again. Status 0: no answer. */
  waitMs(tries: number, _status: number, retryAfter: string | null, _kind: TokenCall | "api"): number | null {
    return Math.max(Math.min(100 * 2 ** tries, 10_000), Number(retryAfter ?? 0) * 1000);
  },
  /** The tokens of an answer; null where it has none, whatever its status. */
  tokensIn(
    status: number,
    body: unknown,
  ): { access_token: string; refresh_token?: string; expires_in?: number } | null {
    const isGood =
      status >= 200 && status < 300 && typeof (body as { access_token?: unknown })?.access_token === "string";
    return isGood ? (body as { access_token: string }) : null;
  },
  /** Half of the token's life; it never lives longer than 8 hours. */
  refreshAfterMs: (expiresIn = 28_800): number | null => Math.min(expiresIn, 28_800) * 500,
  refreshTokenAfter: (old: string | null, answered: string | undefined) => answered ?? old,
  /** After how long a second refresh is sent beside the first; null: never. */
  hedgeAfterMs: null as number | null,

  apiHeaders: ({ accessToken }: Resource, _settings: ServiceSettings): Record<string, string> => ({
    accept: "application/vnd.svc+json; version=3",
    authorization: `Bearer ${accessToken}`,
    "content-type": "application/json",
  }),
  /** What an asynchronous provision calls when it is done, in this order. */
  finish: (uuid: string, config: Record<string, string>): ApiCall[] => [
    {
      method: "PATCH",
      path: `/addons/${uuid}/config`,
      body: { config: Object.entries(config).map(([name, value]) => ({ name, value })) },
    },
    { method: "POST", path: `/addons/${uuid}/actions/provision` },
  ],
  refreshesAt401: true,
  /** Whether a call that failed is made again. */
  repeats: (_call: ApiCall) => true,
  /** Whether the next call is made where one failed. */
  skips: (_call: ApiCall) => false,
};

export interface ApiCall {
  method: string;
  path: string;
  body?: object;
}
