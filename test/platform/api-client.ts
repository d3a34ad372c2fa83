import { jest } from "@jest/globals";
import { createPlatformFor, type TokenSource } from "../../src/platform/api.ts";
import { Secret } from "../../src/secret.ts";
import { anHttp, type Answering, aServer } from "./local-server.ts";

export const UUID = "01234567-89ab-cdef-0123-456789abcdef";
export const OTHER = "89abcdef-0123-4567-89ab-cdef01234567";
export const MEDIA_TYPE = "application/vnd.svc+json; version=3";

/** Tokens token-1, token-2, …: each renewal gives the next one. */
export function aTokenSource() {
  const renewed: string[] = [];
  let current = 1;
  const tokens: TokenSource = {
    current: () => Promise.resolve(new Secret(`token-${current}`)),
    renew: (rejected) => {
      renewed.push(rejected.reveal());
      return Promise.resolve(new Secret(`token-${(current += 1)}`));
    },
  };
  return { tokens, renewed };
}

/** A clock that only `sleep` advances. */
export function aClock() {
  let now = 1_000_000;
  const slept: number[] = [];
  const sleep = (ms: number) => {
    slept.push(ms);
    now += ms;
    return Promise.resolve();
  };
  return { nowMs: () => now, sleep, slept };
}

export type Bench = Awaited<ReturnType<typeof aBench>>;

/**
 * A client for the resource UUID against a local server that answers as told, with a clock that only `sleep` advances.
 */
export async function aBench(answer: Answering, { timeoutMs = 10_000 } = {}) {
  const { url, seen } = await aServer(answer);
  const { tokens, renewed } = aTokenSource();
  const { slept, ...clock } = aClock();
  const calls = { http: anHttp({ timeoutMs }), apiUrl: url, mediaType: MEDIA_TYPE, tokensOf: () => tokens };
  const forResource = createPlatformFor(calls, clock);
  // The longest pauses.
  jest.spyOn(Math, "random").mockReturnValue(1);
  return { api: forResource(UUID), seen, slept, renewed, forResource, url };
}

/** Gives these answers in order, and then repeats the last one. A number is a status with an error body. */
export function inOrder(...answers: (number | object | string | Answering)[]): Answering {
  let next = 0;
  return (seen, response) => {
    const answer = answers[Math.min(next++, answers.length - 1)];
    if (typeof answer === "function") return (answer as Answering)(seen, response);
    if (typeof answer === "number") {
      return response.writeHead(answer).end(JSON.stringify({ id: `said_${answer}`, message: "no" }));
    }
    return response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  };
}
