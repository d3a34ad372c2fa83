import { jest } from "@jest/globals";
import { createPlatformFor, type TokenSource } from "../../src/platform/api.ts";
import { Secret } from "../../src/secret.ts";
import { PLAYED } from "../support/played-platform.ts";
import { anHttp } from "./local-server.ts";

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

/**
 * A client for the resource UUID of the played platform, or of the one at this address, with a clock that only `sleep`
 * advances.
 */
export function aClient(apiUrl = PLAYED.PLATFORM_API_URL) {
  const { tokens, renewed } = aTokenSource();
  const { slept, ...clock } = aClock();
  const calls = { http: anHttp(), apiUrl, mediaType: MEDIA_TYPE, tokensOf: () => tokens };
  const forResource = createPlatformFor(calls, clock);
  // The longest pauses.
  jest.spyOn(Math, "random").mockReturnValue(1);
  return { api: forResource(UUID), slept, renewed, forResource };
}
