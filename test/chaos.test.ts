import { describe, expect, it } from "@jest/globals";
import { createExplained } from "../chaos/explained.ts";
import type { Disturbance } from "../chaos/history.ts";
import { unbounded } from "../chaos/load.ts";
import { createSearch, secretsOf } from "../chaos/secrets.ts";
import type { TokenCall } from "../chaos/token-calls.ts";
import { needlessRefreshes } from "../chaos/verdict.ts";
import type { LedgerEntry } from "../sandbox/index.ts";

// The verdict of `npm run chaos` can find something: here it is given what it must not accept.

const call = (change: Partial<TokenCall> = {}): TokenCall => ({
  ...{ uuid: "u", kind: "exchange", credential: "c", fromMs: 0, toMs: 1, isIssued: false, isHarmed: false },
  ...change,
});
const calls = (count: number, change?: Partial<TokenCall>) =>
  Array.from({ length: count }, () => call(change));
const load = { connections: 80, mostConnections: 80, megabytes: 400, mostMegabytes: 400 };

describe("the verdict on bounded work", () => {
  it("accepts what stays within its bounds", () => {
    const fair = [...calls(40), ...calls(40, { credential: "d" }), ...calls(500, { kind: "refresh" })];
    expect(unbounded(fair, load)).toEqual([]);
  });

  it.each([
    ["a code that is tried again and again", calls(41), load, "u: 41 calls with one code"],
    [
      "connections beyond the pools",
      [],
      { ...load, connections: 81 },
      "81 connections; at most 80 were allowed",
    ],
    ["memory that grows", [], { ...load, megabytes: 401 }, "a process took 401 MB; at most 400 were allowed"],
  ])("finds %s", (_, made, seen, found) => {
    expect(unbounded(made, seen)).toEqual([found]);
  });
});

// Seconds of the run: the pair was issued from the 100th to the 101st.
const seconds = (each: number) => each * 1_000;
const issued = call({ fromMs: seconds(100), toMs: seconds(101), isIssued: true });
const during = (
  what: string,
  fromSecond: number,
  toSecond: number,
  effect: Disturbance["effect"] = null,
): Disturbance => ({ what, effect, fromMs: seconds(fromSecond), toMs: seconds(toSecond) });

describe("the verdict on lost tokens", () => {
  const isExplained = (disturbances: Disturbance[], kills: number[] = [], pair = issued) =>
    createExplained({ disturbances, killedTokens: [] }, kills.map(seconds)).isLoss(pair);

  it("excuses an answer that the platform harmed", () => {
    expect(isExplained([], [], { ...issued, isHarmed: true })).toBe(true);
  });

  it.each([
    ["before its call was read", [], 99],
    ["during the call", [], 100.5],
    ["right after the answer", [], 105],
    ["while the database was away", [during("database refuses", 103, 109, "delay")], 112],
    ["after trouble upon trouble", [during("database silent", 108, 112, "delay"), during("a process frozen", 103, 107, "delay")], 116],
  ])("excuses a pair whose process may have been killed %s", (_, disturbances, killed) => {
    expect(isExplained(disturbances, [killed])).toBe(true);
  }); // prettier-ignore

  it.each([
    ["while the platform's API fails", [during("platform API fails", 99, 106)], []],
    ["while provisions are delivered twice", [during("provisions delivered twice", 99, 106)], []],
    ["while the encryption key is rotated", [during("encryption key rotated", 50, 120)], []],
    ["while the database refuses", [during("database refuses", 99, 106, "delay")], []],
    ["while a process is frozen", [during("a process frozen", 99, 114, "delay")], []],
    ["while a process is restarted", [during("a process restarted", 99, 106)], []],
    ["while the client secret is reset", [during("client secret reset", 99, 106, "renewal")], []],
    ["long before a process was killed", [], [107]],
    ["long after a process was killed", [], [97]],
    ["long before a process was killed, and the database was back", [during("database refuses", 99, 102, "delay")], [108]],
  ])("finds a pair that was lost %s", (_, disturbances, kills) => {
    expect(isExplained(disturbances, kills)).toBe(false);
  }); // prettier-ignore
});

describe("the verdict on refreshes", () => {
  const lifeSeconds = 60;
  const refreshAt = (second: number, change: Partial<TokenCall> = {}) =>
    call({ kind: "refresh", fromMs: seconds(second), toMs: seconds(second), isIssued: true, ...change });
  const needless = (
    again: TokenCall,
    disturbances: Disturbance[] = [],
    { kills = [], killedTokens = [] }: { kills?: number[]; killedTokens?: { uuid: string; atMs: number }[] } = {},
  ) =>
    needlessRefreshes([issued, again], {
      lifeSeconds,
      explained: createExplained({ disturbances, killedTokens }, kills.map(seconds)),
    }); // prettier-ignore

  it("accepts one at half the life of a token", () => {
    expect(needless(refreshAt(126))).toEqual([]);
  });

  it.each([
    ["a token that the platform killed", [], { killedTokens: [{ uuid: "u", atMs: seconds(110) }] }],
    ["a new client secret", [during("client secret reset", 90, 96, "renewal")], {}],
    ["a process that was killed", [], { kills: [103] }],
    ["a process that was frozen", [during("a process frozen", 99, 104, "delay")], {}],
    ["a database in trouble", [during("commits unacknowledged", 104, 105, "delay")], {}],
  ])("accepts one for %s", (_, disturbances, done) => {
    expect(needless(refreshAt(120), disturbances, done)).toEqual([]);
  });

  it.each([
    ["nothing", [], {}],
    ["a platform whose API fails", [during("platform API fails", 99, 106)], {}],
    ["a process that was restarted", [during("a process restarted", 99, 106)], {}],
    ["a token killed before it was replaced", [], { killedTokens: [{ uuid: "u", atMs: seconds(95) }] }],
    ["another's token that the platform killed", [], { killedTokens: [{ uuid: "v", atMs: seconds(110) }] }],
    ["a client secret of long before", [during("client secret reset", 80, 93, "renewal")], {}],
    ["trouble that was over", [during("database refuses", 90, 97, "delay")], {}],
  ])("finds one for %s", (_, disturbances, done) => {
    expect(needless(refreshAt(120), disturbances, done)).toHaveLength(1);
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
  ])("finds one %s", (_, text) => {
    expect(holdsSecret(text)).toBe(true);
  });

  it("finds no part of one, and no other", () => {
    expect(holdsSecret(refreshToken.slice(0, -1))).toBe(false);
    expect(holdsSecret(`refresh_token=${refreshToken.replace("09", "10")}&client_secret=c`)).toBe(false);
  });

  it("is done with ten megabytes and a thousand secrets within seconds", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `SVCK-0123456789-${index}-abcdef`);
    const startedAt = performance.now();
    expect(createSearch(many)("SVCK-0123456789 ".repeat(655_360))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it("knows the config vars that a provision was answered with, but for addresses", () => {
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
