import { describe, expect, it } from "@jest/globals";
import { createExplained } from "../../workshop/chaos/explained.ts";
import type { Span } from "../../workshop/chaos/history.ts";
import { unbounded } from "../../workshop/chaos/load.ts";
import { createSearch, secretsOf } from "../../workshop/chaos/secrets.ts";
import type { TokenCall } from "../../workshop/chaos/token-calls.ts";
import { refreshesOf } from "../../workshop/chaos/verdict.ts";
import type { LedgerEntry } from "../../packages/sandbox/index.ts";

// The checks of `npm run chaos` are given what they must reject.

const call = (change: Partial<TokenCall> = {}): TokenCall => ({
  ...{
    uuid: "u",
    by: "web-1",
    kind: "exchange",
    credential: "c",
    fromMs: 0,
    toMs: 1,
    isIssued: false,
    isHarmed: false,
  },
  ...change,
});
const calls = (count: number, change?: Partial<TokenCall>) =>
  Array.from({ length: count }, () => call(change));
const load = {
  ...{ connections: 8, connectionsInTrouble: 16, mostConnections: 8 },
  ...{ megabytes: 250, mostMegabytes: 250 },
};

describe("the check of load limits", () => {
  it("accepts values within the limits", () => {
    const fair = [
      ...calls(40),
      ...calls(40, { credential: "d" }),
      ...calls(30, { kind: "refresh" }),
      ...calls(500, { kind: "refresh", isIssued: true }),
    ];
    expect(unbounded(fair, load)).toEqual([]);
  });

  it.each([
    ["a code that is tried again and again", calls(41), load, "u: 41 calls with one code"],
    ["a token that is refreshed in vain without a rest", calls(31, { kind: "refresh" }), load, "u: 31 calls in vain within a minute for one refresh token"],
    ["connections beyond the pool", [], { ...load, connections: 9 }, "9 connections of one process; at most 8 were allowed"],
    ["connections beyond two pools while some are cut off", [], { ...load, connectionsInTrouble: 17 }, "9 connections of one process; at most 8 were allowed"],
    ["memory that grows", [], { ...load, megabytes: 251 }, "a process took 251 MB; at most 250 were allowed"],
  ])("reports %s", (_, made, seen, found) => {
    expect(unbounded(made, seen)).toEqual([found]);
  }); // prettier-ignore
});

// Seconds of the run: the pair was issued from the 100th to the 101st.
const seconds = (each: number) => each * 1_000;
const issued = call({ fromMs: seconds(100), toMs: seconds(101), isIssued: true });
const from = (fromSecond: number, toSecond: number): Span => ({
  fromMs: seconds(fromSecond),
  toMs: seconds(toSecond),
});
/** The faults of the run, in seconds of the run. */
interface Done {
  database?: Span[];
  renewals?: Span[];
  killedTokens?: { uuid: string; atMs: number }[];
  kills?: [string, number][];
  freezes?: [string, Span][];
}
const explainedBy = ({ database = [], renewals = [], killedTokens = [], kills = [], freezes = [] }: Done) =>
  createExplained(
    { databaseTroubles: database, renewals, killedTokens },
    {
      kills: kills.map(([name, second]) => ({ name, atMs: seconds(second) })),
      freezes: freezes.map(([name, span]) => ({ name, ...span })),
    },
  ); // prettier-ignore

describe("the check of lost tokens", () => {
  it("excuses a loss when the platform's answer was damaged", () => {
    expect(explainedBy({}).isLoss({ ...issued, isHarmed: true })).toBe(true);
  });

  it.each<[string, Done]>([
    ["before its call was read", { kills: [["web-1", 99]] }],
    ["during the call", { kills: [["web-1", 100.5]] }],
    ["right after the answer", { kills: [["web-1", 105]] }],
    ["while the database was away", { kills: [["web-1", 112]], database: [from(103, 109)] }],
    ["after trouble upon trouble", { kills: [["web-1", 116]], database: [from(108, 112)], freezes: [["web-1", from(103, 107)]] }],
  ])("excuses a loss when the process was killed %s", (_, done) => {
    expect(explainedBy(done).isLoss(issued)).toBe(true);
  }); // prettier-ignore

  it.each<[string, Done]>([
    ["while nothing happened", {}],
    ["while the database refuses", { database: [from(99, 106)] }],
    ["while its process is frozen", { freezes: [["web-1", from(99, 114)]] }],
    ["while the client secret is reset", { renewals: [from(99, 106)] }],
    ["while another process was killed", { kills: [["worker-1", 100.5]] }],
    ["long before its process was killed", { kills: [["web-1", 107]] }],
    ["long after its process was killed", { kills: [["web-1", 97]] }],
    ["long before it was killed, and the database was back", { kills: [["web-1", 108]], database: [from(99, 102)] }],
    ["long before it was killed, and another was frozen", { kills: [["web-1", 112]], freezes: [["web-2", from(103, 109)]] }],
  ])("reports a loss %s", (_, done) => {
    expect(explainedBy(done).isLoss(issued)).toBe(false);
  }); // prettier-ignore

  it("when the caller is unknown, excuses a loss by any process that was killed", () => {
    expect(explainedBy({ kills: [["worker-1", 100.5]] }).isLoss({ ...issued, by: null })).toBe(true);
  });
});

describe("the check of early refreshes", () => {
  const lifeSeconds = 60;
  const refreshAt = (second: number, change: Partial<TokenCall> = {}) =>
    call({ kind: "refresh", fromMs: seconds(second), toMs: seconds(second), isIssued: true, ...change });
  const judged = (again: TokenCall, done: Done = {}) =>
    refreshesOf([issued, again], { lifeSeconds, explained: explainedBy(done) });

  it("accepts a refresh at half the life of a token", () => {
    expect(judged(refreshAt(130))).toEqual({ refreshes: 1, periods: 1, early: 0, needless: [] });
  });

  it.each<[string, Done]>([
    ["a token that the platform killed", { killedTokens: [{ uuid: "u", atMs: seconds(110) }] }],
    ["a new client secret", { renewals: [from(90, 96)] }],
    ["a process that was killed", { kills: [["web-1", 103]] }],
    ["a process that was frozen until its tokens counted no more", { freezes: [["web-1", from(99, 117)]] }],
    ["a process that made its call after a long freeze", { freezes: [["web-1", from(50, 100)]] }],
    ["a database that was away for as long as tokens are held", { database: [from(101, 106), from(108, 112), from(113, 118)] }],
  ])("accepts an early refresh for %s", (_, done) => {
    expect(judged(refreshAt(120), done)).toMatchObject({ early: 1, needless: [] });
  }); // prettier-ignore

  it.each<[string, Done]>([
    ["nothing", {}],
    ["another process that was killed", { kills: [["web-2", 103]] }],
    ["another process that was frozen", { freezes: [["worker-1", from(99, 150)]] }],
    ["a process that was frozen for a moment", { freezes: [["web-1", from(99, 104)]] }],
    ["a database that was away for a moment", { database: [from(100, 106)] }],
    ["a token killed before it was replaced", { killedTokens: [{ uuid: "u", atMs: seconds(95) }] }],
    ["another's token that the platform killed", { killedTokens: [{ uuid: "v", atMs: seconds(110) }] }],
    ["a client secret of long before", { renewals: [from(80, 93)] }],
    ["trouble that was over", { database: [from(60, 95)] }],
  ])("reports an early refresh for %s", (_, done) => {
    expect(judged(refreshAt(120), done).needless).toHaveLength(1);
  });
});

describe("the search for secrets", () => {
  const refreshToken = "3b0f6a5e-6f0e-4f43-9d9a-5a1d3c2b1a09";
  const accessToken = "SVCK-0123456789abcdef-0123456789abcdef";
  const holdsSecret = createSearch([refreshToken, accessToken, "3b0f6a5e-6f0e-4f-and-another"]);

  it.each([
    ["in a form", `refresh_token=${refreshToken}&client_secret=c`],
    ["at the end of a sentence", `The token was ${accessToken}.`],
    ["after an escaped line end", JSON.stringify(`the token:\n${accessToken}`)],
    ["in an address", `https://platform.example/?t=${accessToken}`],
    ["as the whole text", accessToken],
  ])("finds a secret %s", (_, text) => {
    expect(holdsSecret(text)).toBe(true);
  });

  it("finds neither a part of a secret nor another token", () => {
    expect(holdsSecret(refreshToken.slice(0, -1))).toBe(false);
    expect(holdsSecret(`refresh_token=${refreshToken.replace("09", "10")}&client_secret=c`)).toBe(false);
  });

  it("searches ten megabytes for a thousand secrets within seconds", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `SVCK-0123456789-${index}-abcdef`);
    const startedAt = performance.now();
    expect(createSearch(many)("SVCK-0123456789 ".repeat(655_360))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it("knows the config vars of provision answers, except addresses", () => {
    const config = {
      TEAPOT_TOKEN: "0123456789abcdef0123",
      TEAPOT_URL: "https://teapots.example/1",
      SIZE: "6",
    };
    const pushed = { config: [{ name: "A_NAME_OF_SOME_LENGTH", value: "fedcba98765432100123" }] };
    const request = { headers: {}, body: pushed };
    const entry = { request, response: { status: 200, headers: {}, body: { config } } };
    expect(secretsOf([entry as unknown as LedgerEntry])).toEqual(
      new Set([config.TEAPOT_TOKEN, "fedcba98765432100123"]),
    );
  });
});
