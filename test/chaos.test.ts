import { describe, expect, it } from "@jest/globals";
import { unbounded } from "../chaos/load.ts";
import { createSearch, secretsOf } from "../chaos/secrets.ts";
import type { TokenCall } from "../chaos/token-calls.ts";
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
