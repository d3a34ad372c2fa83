import { describe, expect, it } from "@jest/globals";
import { unbounded } from "../chaos/load.ts";
import type { TokenCall } from "../chaos/token-calls.ts";

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
