import { expect, it } from "@jest/globals";
import { PACE } from "../../src/pace.ts";
import { pino } from "pino";
import { createCircuitBreaker } from "../../src/credentials/circuit-breaker.ts";
import { createRefresh } from "../../src/credentials/refresh.ts";
import { createTokenSources } from "../../src/credentials/token-source.ts";
import { Secret } from "../../src/secret.ts";

const massRefusal = { saw: () => undefined, wave: async () => null };

type RefreshNeeds = Parameters<typeof createRefresh>[0];
type SourceNeeds = Parameters<typeof createTokenSources>[0];

it("a refused refresh token shows that the token endpoint is reachable again", async () => {
  let now = 0;
  const breaker = createCircuitBreaker(() => now);
  for (let i = 0; i < 5; i++) breaker.failed();
  expect(breaker.allowance()).toBe(0);
  now += 15_000;
  expect(breaker.allowance()).toBe(1);
  const row = { uuid: "u", state: "active", attempts: 0, rejectedForSeconds: null, wasRefused: false };
  const needs = {
    pace: PACE,
    claims: { refresh: async () => row },
    store: { putOffRefresh: async () => false },
    admission: {
      claim: async (claim: () => Promise<unknown[]>) => (await claim()).map((it) => ({ row: it })),
    },
    call: async () => ({
      done: "failed",
      failure: { outcome: "token_rejected", error: { id: "invalid_grant", message: "No." } },
    }),
    ...{ breaker, massRefusal, semaphore: {}, concurrency: 1, onEnd: () => undefined },
    log: pino({ level: "silent" }),
  };
  await createRefresh(needs as unknown as RefreshNeeds).now("u");
  expect(breaker.allowance()).toBe(Infinity);
});

it("a call that was not sent because the secret was replaced is repeated, and is no rejection of the secret", async () => {
  let generation = 1;
  const results = [{ done: "not_sent" }, { done: "stored", refreshInSeconds: 60 }];
  const needs = {
    pace: PACE,
    db: {
      query: async () => [
        {
          state: "active",
          uuid: "u",
          sealedAccessToken: Buffer.from("x"),
          isExpired: true,
          canRefresh: true,
          generation,
        },
      ],
    },
    opening: { open: async () => new Secret(`token ${generation}`) },
    refresh: {
      async now() {
        const result = results.shift()!;
        if (result.done === "stored") generation += 1;
        return result;
      },
    },
  };
  const tokens = createTokenSources(needs as unknown as SourceNeeds)("u");
  expect((await tokens.current()).reveal()).toBe("token 2");
  expect(results).toEqual([]);
});

it("a token answer that is an unknown refusal raises an alarm", async () => {
  const lines: string[] = [];
  const row = { uuid: "u", state: "active", attempts: 0, rejectedForSeconds: null, wasRefused: false };
  let outcome = "not_issued";
  const needs = {
    pace: PACE,
    claims: { refresh: async () => row },
    store: { putOffRefresh: async () => false },
    admission: {
      claim: async (claim: () => Promise<unknown[]>) => (await claim()).map((it) => ({ row: it })),
    },
    call: async () => ({ done: "failed", failure: { outcome, error: { id: "suspended", message: "No." } } }),
    ...{
      breaker: createCircuitBreaker(),
      massRefusal,
      semaphore: {},
      concurrency: 1,
      onEnd: () => undefined,
    },
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  };
  const refresh = createRefresh(needs as unknown as RefreshNeeds);
  const alarms = () => lines.filter((line) => line.includes('"alarm":"refresh_misunderstood"')).length;
  await refresh.now("u");
  expect(alarms()).toBe(0);
  outcome = "bug";
  await refresh.now("u");
  expect(alarms()).toBe(1);
  expect(lines).toHaveLength(2);
});
