import type { Answer } from "../../examples/service/types.ts";
import { type Break, type BrokenService, inHeaderToo } from "./break.ts";

// Faults in refreshes alone, and in what happens at certain moments.

const refused = (status: number): Answer => ({ status, body: { id: "refused", message: "No." } });

/** Changes how refreshes are sent. */
const refreshesBy =
  (
    change: (url: string, form: Record<string, string>) => { url: string; init?: RequestInit },
  ): Break["habits"] =>
  (good) => ({
    request(url, form, kind) {
      const usual = good.request(url, form, kind);
      return kind === "refresh" ? { ...usual, ...change(url, form) } : usual;
    },
  });

export const refreshByGet: BrokenService = [
  {
    rule: "TOK-02",
    what: "a refresh is a GET with everything in its address",
    habits: refreshesBy((url, form) => ({
      url: `${url}?${new URLSearchParams(form).toString()}`,
      init: { method: "GET" },
    })),
  },
  { rule: "EXCH-09", what: "the client secret is in the address of a refresh", habits: () => ({}) },
];

export const refreshInAddress: BrokenService = [
  {
    rule: "TOK-02",
    what: "the refresh token is in the address too",
    habits: refreshesBy((url, form) => ({ url: `${url}?refresh_token=${form["refresh_token"]}` })),
  },
];

export const refreshAsExchange: BrokenService = [
  {
    rule: "TOK-02",
    what: "a refresh calls itself an exchange",
    habits: (good) => ({
      refreshForm: (resource, secret) => ({
        ...good.refreshForm(resource, secret),
        grant_type: "authorization_code",
      }),
    }),
  },
];

export const refreshMisnamed: BrokenService = [
  {
    rule: "TOK-03",
    what: "the refresh token has another name",
    habits: () => ({
      refreshForm: ({ refreshToken }, secret) => ({
        grant_type: "refresh_token",
        token: refreshToken!,
        client_secret: secret,
      }),
    }),
  },
];

export const mixedUp: BrokenService = [
  {
    rule: "TOK-09",
    what: "all resources are refreshed with the refresh token that came last",
    alone: true,
    habits(good) {
      let last: string | undefined;
      return {
        tokensIn(status, body) {
          const tokens = good.tokensIn(status, body);
          last = tokens?.refresh_token ?? last;
          return tokens;
        },
        refreshForm: (resource, secret) => ({
          ...good.refreshForm(resource, secret),
          refresh_token: last ?? resource.refreshToken!,
        }),
      };
    },
  },
];

export const refreshCutShort: BrokenService = [
  {
    rule: "TOK-03",
    what: "the refresh token has a column of 32 characters",
    habits: (good) => ({
      refreshForm: (resource, secret) => ({
        ...good.refreshForm(resource, secret),
        refresh_token: resource.refreshToken!.slice(0, 32),
      }),
    }),
  },
];

export const exchangedInside: BrokenService = [
  {
    rule: "EXCH-02",
    what: "the code is exchanged inside the request, which fails with it",
    alone: true,
    habits: () => ({
      exchangesBeforeAnswering: true,
      provisioned: () => ({ status: 500, body: { id: "internal", message: "No tokens." } }),
    }),
  },
];

export const secretBeside: BrokenService = [
  {
    rule: "EXCH-10",
    what: "the client secret is in a header of its own",
    habits: (good) => ({
      request(url, form, kind) {
        const { init } = good.request(url, form, kind);
        return { url, init: { ...init, headers: { "x-client-secret": form["client_secret"]! } } };
      },
    }),
  },
];

export const hurriedExchange: BrokenService = [
  {
    rule: "FAIL-04",
    what: "an exchange is given up after a moment",
    alone: true,
    habits: () => ({ timeoutMs: (kind) => (kind === "exchange" ? 1_500 : 20_000) }),
  },
];

export const hurriedRefresh: BrokenService = [
  {
    rule: "TOK-07",
    what: "a slow refresh is sent once more",
    alone: true,
    habits: () => ({ hedgeAfterMs: 600 }),
  },
];

export const late: BrokenService = [
  {
    rule: "EXCH-10",
    what: "the client secret is in a header too, of refreshes alone",
    habits: inHeaderToo((kind) => kind === "refresh"),
  },
  {
    rule: "TOK-01",
    what: "a token is refreshed after its end, but is",
    habits: (good) => ({
      refreshAfterMs: (expiresIn = 28_800) =>
        expiresIn < 60 ? expiresIn * 1_000 + 5_000 : good.refreshAfterMs(expiresIn),
    }),
  },
  {
    rule: "ASYNC-14",
    what: "the end is told twice",
    habits: (good) => ({
      finish(uuid, config) {
        const calls = good.finish(uuid, config);
        return [...calls, calls.at(-1)!];
      },
    }),
  },
];

export const forgetful: BrokenService = [
  {
    rule: "IDEM-06",
    what: "who comes again before the tokens gets another answer",
    alone: true,
    habits: (good) => ({
      again(resource, wanted) {
        const { body, ...answer } = good.again(resource, wanted);
        return { ...answer, body: { ...body, ...(!resource.accessToken && { message: "Soon." }) } };
      },
    }),
  },
];

export const vengeful: BrokenService = [
  {
    rule: "TOK-02",
    what: "the client secret is cut short in refreshes",
    habits: (good) => ({
      refreshForm: (resource, secret) => good.refreshForm(resource, secret.slice(0, 8)),
    }),
  },
  {
    rule: "FAIL-07",
    what: "what could not be exchanged is a conflict when it comes again",
    habits: (good) => ({
      again: (resource, wanted) =>
        resource.failedTries > 0 && !resource.accessToken ? refused(409) : good.again(resource, wanted),
    }),
  },
];
