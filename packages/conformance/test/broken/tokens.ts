import { basic, type Break, type BrokenService, inHeaderToo } from "./break.ts";

// Faults in calls to the platform: exchanges, refreshes, and calls of its API.

export const hasty: BrokenService = [
  {
    rule: "EXCH-02",
    what: "the code is exchanged before the answer",
    habits: () => ({ exchangesBeforeAnswering: true }),
  },
  {
    rule: "EXCH-04",
    what: "the code of a refused provision is sent",
    habits: () => ({ exchangesRefused: true }),
  },
  { rule: "TOK-01", what: "nothing is refreshed by itself", habits: () => ({ refreshAfterMs: () => null }) },
];

export const inJson: BrokenService = [
  {
    rule: "EXCH-05",
    what: "the exchange is JSON",
    habits: () => ({
      request: (url, form) => ({
        url,
        init: { method: "POST", body: JSON.stringify(form), headers: { "content-type": "application/json" } },
      }),
    }),
  },
];

export const unencoded: BrokenService = [
  {
    rule: "EXCH-08",
    what: "the client secret is not encoded",
    habits: (good) => ({
      request: (url, form, kind) => ({
        url,
        init: {
          ...good.request(url, form, kind).init,
          body: Object.entries(form)
            .map((pair) => pair.join("="))
            .join("&"),
          headers: { "content-type": "application/x-www-form-urlencoded" },
        },
      }),
    }),
  },
];

/** Puts some members of the form into the address, and the others into the body. */
const inAddress =
  (isMeant: (name: string) => boolean): Break["habits"] =>
  (good) => ({
    request(url, form, kind) {
      const members = Object.entries(form);
      const query = new URLSearchParams(members.filter(([name]) => isMeant(name)));
      const body = members.filter(([name]) => !isMeant(name));
      const init =
        body.length > 0 ? good.request(url, Object.fromEntries(body), kind).init : { method: "POST" };
      return { url: `${url}?${query.toString()}`, init };
    },
  });

export const secretInAddress: BrokenService = [
  {
    rule: "EXCH-09",
    what: "the client secret is in the address alone",
    habits: inAddress((name) => name === "client_secret"),
  },
];

export const allInAddress: BrokenService = [
  { rule: "EXCH-05", what: "all is in the address", habits: inAddress(() => true) },
];

export const onlyOk: BrokenService = [
  {
    rule: "EXCH-12",
    what: "tokens are taken from an answer of 200 alone",
    habits: (good) => ({ tokensIn: (status, body) => (status === 200 ? good.tokensIn(status, body) : null) }),
  },
];

export const otherGrant: BrokenService = [
  {
    rule: "EXCH-09",
    what: "the code stands in the address too",
    habits: (good) => ({
      request(url, form, kind) {
        const at = kind === "exchange" ? `${url}?code=${form["code"]}` : url;
        return { ...good.request(url, form, kind), url: at };
      },
    }),
  },
  {
    rule: "EXCH-06",
    what: "the grant's type has another name",
    habits: (good) => ({
      exchangeForm: (code, secret) => ({ ...good.exchangeForm(code, secret), grant_type: "code" }),
    }),
  },
];

export const inHeaders: BrokenService = [
  {
    rule: "EXCH-07",
    what: "the client secret is in a header alone",
    habits: (good) => ({
      request(url, form, kind) {
        if (kind === "refresh") return good.request(url, form, kind);
        const { client_secret: secret, ...rest } = form;
        const { init } = good.request(url, rest, kind);
        return { url, init: { ...init, headers: { authorization: basic(secret!) } } };
      },
    }),
  },
  {
    rule: "TOK-05",
    what: "a new refresh token is thrown away",
    habits: (good) => ({
      refreshTokenAfter: (old, answered) => (old && answered ? old : good.refreshTokenAfter(old, answered)),
    }),
  },
  {
    rule: "TOK-06",
    what: "an absent refresh token replaces the old one",
    habits: (good) => ({
      refreshTokenAfter: (old, answered) =>
        answered === undefined ? "none" : good.refreshTokenAfter(old, answered),
    }),
  },
  {
    rule: "FAIL-01",
    what: "the second 503 is the last",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "exchange" && status === 503 && tries >= 1
          ? null
          : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
  {
    rule: "FAIL-02",
    what: "a broken connection is the end",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "exchange" && status === 0 ? null : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
  {
    rule: "FAIL-03",
    what: "Retry-After is not read",
    habits: (good) => ({
      waitMs: (tries, status, _retryAfter, kind) => good.waitMs(tries, status, null, kind),
    }),
  },
  {
    rule: "FAIL-06",
    what: "redirects are followed",
    // The header with the secret is then sent to the redirect's target too.
    habits: () => ({ redirect: "follow" }),
  },
];

export const repeating: BrokenService = [
  {
    rule: "EXCH-03",
    what: "the code is exchanged twice",
    habits: () => ({ exchangesTwice: "afterwards" }),
  },
  {
    rule: "EXCH-11",
    what: "the first invalid_grant is final",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "exchange" && status === 400 ? null : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
  {
    rule: "TOK-02",
    what: "a refresh calls itself something else",
    habits: (good) => ({
      refreshForm: (resource, secret) => ({ ...good.refreshForm(resource, secret), grant_type: "refresh" }),
    }),
  },
];

export const stormyExchange: BrokenService = [
  {
    rule: "FAIL-08",
    what: "a 503 is answered with a storm",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "exchange" && status === 503 ? 1 : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
];

export const atOnce: BrokenService = [
  {
    rule: "EXCH-03",
    what: "two workers exchange the same code at the same moment",
    habits: () => ({ exchangesTwice: "at once" }),
  },
];

export const impatient: BrokenService = [
  {
    rule: "EXCH-10",
    what: "the client secret is in a header too",
    habits: inHeaderToo(() => true),
  },
  {
    rule: "EXCH-12",
    what: "tokens with a user_id are not taken",
    habits: (good) => ({
      tokensIn: (status, body) =>
        (body as { user_id?: string } | null)?.user_id ? null : good.tokensIn(status, body),
    }),
  },
  {
    rule: "TOK-08",
    what: "a refresh is never tried again",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "refresh" ? null : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
  {
    rule: "FAIL-05",
    what: "a page is taken for tokens",
    habits: (good) => ({
      tokensIn: (status, body) =>
        good.tokensIn(status, body) ?? (status < 300 && body === null ? { access_token: "undefined" } : null),
    }),
  },
];

export const stormy: BrokenService = [
  {
    rule: "TOK-04",
    what: "short-lived tokens are refreshed all the time",
    // A quarter of it is what a busy machine may take for one refresh.
    patience: { tokenLifeSeconds: 12 },
    habits: (good) => ({
      refreshAfterMs: (expiresIn = 28_800) => (expiresIn < 60 ? 200 : good.refreshAfterMs(expiresIn)),
    }),
  },
];

export const mixedUp: BrokenService = [
  {
    rule: "TOK-03",
    what: "the access token is sent for the refresh token",
    habits: (good) => ({
      refreshForm: (resource, secret) => ({
        ...good.refreshForm(resource, secret),
        refresh_token: resource.accessToken!,
      }),
    }),
  },
  {
    rule: "ASYNC-03",
    what: "the end is never told",
    habits: (good) => ({ finish: (uuid, config) => good.finish(uuid, config).slice(0, 1) }),
  },
];

export const unfinished: BrokenService = [
  {
    rule: "ASYNC-01",
    what: "a 202 has a config",
    habits: (good) => ({
      begun(uuid) {
        const answer = good.begun(uuid);
        return { ...answer, body: { ...answer.body, config: { EXAMPLE_URL: "later" } } };
      },
    }),
  },
  {
    rule: "ASYNC-02",
    what: "a 202 has no message",
    habits: (good) => ({
      begun(uuid) {
        const answer = good.begun(uuid);
        return { ...answer, body: { ...answer.body, message: undefined } };
      },
    }),
  },
  {
    rule: "ASYNC-06",
    what: "a config var that is not declared is set",
    habits: (good) => ({ finish: (uuid, config) => good.finish(uuid, { ...config, EXAMPLE_MORE: "x" }) }),
  },
  {
    rule: "ASYNC-09",
    what: "a repeated provision is said to be done",
    habits: (good) => ({
      again: (resource, wanted) =>
        resource.plan === "slow"
          ? good.provisioned(resource.uuid, "slow", wanted)
          : good.again(resource, wanted),
    }),
  },
  {
    rule: "ASYNC-10",
    what: "the first 503 of the API is the end",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "api" && status === 503 ? null : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
  {
    rule: "ASYNC-13",
    what: "a token has a column of 255 characters",
    habits: (good) => ({
      apiHeaders: (resource, settings) =>
        good.apiHeaders({ ...resource, accessToken: resource.accessToken!.slice(0, 255) }, settings),
    }),
  },
  {
    rule: "SECR-03",
    what: "the client secret goes to the API too",
    habits: (good) => ({
      apiHeaders: (resource, settings) => ({
        ...good.apiHeaders(resource, settings),
        "x-client": settings.clientSecret,
      }),
    }),
  },
];

export const limited: BrokenService = [
  {
    rule: "ASYNC-11",
    what: "the first 429 of the API is the end",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "api" && status === 429 ? null : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
];

export const restless: BrokenService = [
  {
    rule: "ASYNC-15",
    what: "Retry-After of the API is not read",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        good.waitMs(tries, status, kind === "api" ? null : retryAfter, kind),
    }),
  },
  {
    rule: "ASYNC-16",
    what: "what the API refuses is called in a storm",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "api" && status === 422 ? 1 : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
];

export const stormyApi: BrokenService = [
  {
    rule: "ASYNC-16",
    what: "an API that is unavailable is called in a storm",
    habits: (good) => ({
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "api" && status === 503 ? 1 : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
];

export const waitedOut: BrokenService = [
  { rule: "ASYNC-12", what: "a 401 is only waited out", habits: () => ({ refreshesAt401: false }) },
];

export const endFirst: BrokenService = [
  {
    rule: "ASYNC-04",
    what: "the end is told first, and what should come before it only once",
    // So that the first provision is over when ASYNC-10 looks at what the service does.
    patience: { betweenMs: 150 },
    habits: (good) => ({
      finish: (uuid, config) => good.finish(uuid, config).toReversed(),
      repeats: ({ method }) => method === "POST",
    }),
  },
];

export const onlyReading: BrokenService = [
  {
    rule: "ASYNC-10",
    what: "what it reads is asked for again, what it changes is not",
    habits: (good) => ({
      finish: (uuid, config) => [{ method: "GET", path: `/addons/${uuid}` }, ...good.finish(uuid, config)],
      repeats: ({ method }) => method === "GET",
    }),
  },
];

export const configDropped: BrokenService = [
  {
    rule: "ASYNC-10",
    what: "the end is told although the config vars did not arrive",
    habits: () => ({ skips: ({ method }) => method === "PATCH" }),
  },
];

export const endDropped: BrokenService = [
  {
    rule: "ASYNC-10",
    what: "the end is told once, whether it is heard or not",
    habits: () => ({ repeats: ({ method }) => method !== "POST" }),
  },
];

export const unmarked: BrokenService = [
  {
    rule: "SECR-03",
    what: "the client secret goes to the API in the place of a token",
    habits: (good) => ({
      apiHeaders: (resource, settings) => ({
        ...good.apiHeaders(resource, settings),
        authorization: basic(settings.clientSecret),
      }),
    }),
  },
];

export const otherShape: BrokenService = [
  {
    rule: "ASYNC-05",
    what: "config vars are sent as an object",
    habits: (good) => ({
      finish: (uuid, config) => [
        { ...good.finish(uuid, config)[0]!, body: { config } },
        ...good.finish(uuid, config).slice(1),
      ],
    }),
  },
  {
    rule: "ASYNC-07",
    what: "no version of the API is asked for",
    habits: (good) => ({
      apiHeaders: (resource, settings) => ({
        ...good.apiHeaders(resource, settings),
        accept: "application/json",
      }),
    }),
  },
  {
    rule: "ASYNC-08",
    what: "one token is used for all",
    habits(good) {
      let first: string | null = null;
      return {
        apiHeaders: (resource, settings) =>
          good.apiHeaders({ ...resource, accessToken: `${(first ??= resource.accessToken)}x` }, settings),
      };
    },
  },
];

/** Changes the headers of each call to the API except the first of a resource. */
function laterHeaders(change: (headers: Record<string, string>) => Record<string, string>): Break["habits"] {
  return (good) => {
    const called = new Set<string>();
    return {
      apiHeaders(resource, settings) {
        const headers = good.apiHeaders(resource, settings);
        const isLater = called.has(resource.uuid);
        called.add(resource.uuid);
        return isLater ? change(headers) : headers;
      },
    };
  };
}

export const absentMinded: BrokenService = [
  {
    rule: "ASYNC-07",
    what: "the first call alone asks for a version of the API",
    habits: laterHeaders((headers) => ({ ...headers, accept: "application/json" })),
  },
  {
    rule: "ASYNC-08",
    what: "the first call alone is made with the resource's token",
    habits: laterHeaders((headers) => ({ ...headers, authorization: `${headers["authorization"]}x` })),
  },
];
