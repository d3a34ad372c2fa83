import { expect, it } from "@jest/globals";
import { pino } from "pino";
import { createOutage } from "../../src/resources/credentials/outage.ts";
import { createRefresh } from "../../src/resources/credentials/refresh.ts";
import { createTokenSources } from "../../src/resources/credentials/token-source.ts";
import { Secret } from "../../src/secret.ts";

type RefreshNeeds = Parameters<typeof createRefresh>[0];
type SourceNeeds = Parameters<typeof createTokenSources>[0];

it("a refresh token that is refused says that the token endpoint is there again", async () => {
  let now = 0;
  const outage = createOutage(() => now);
  for (let i = 0; i < 5; i++) outage.failed();
  expect(outage.allowance()).toBe(0);
  now += 15_000;
  expect(outage.allowance()).toBe(1);
  const row = { uuid: "u", state: "active", attempts: 0, rejectedForSeconds: null, wasRefused: false };
  const needs = {
    claims: { refresh: async () => row },
    store: { putOffRefresh: async () => false },
    admission: {
      claim: async (claim: () => Promise<unknown[]>) => (await claim()).map((it) => ({ row: it })),
    },
    call: async () => ({
      done: "failed",
      failure: { outcome: "token_rejected", error: { id: "invalid_grant", message: "No." } },
    }),
    ...{ outage, slots: {}, concurrency: 1, onEnd: () => undefined, log: pino({ level: "silent" }) },
  };
  await createRefresh(needs as unknown as RefreshNeeds).now("u");
  expect(outage.allowance()).toBe(Infinity);
});

it("a call that was not sent, for the secret was replaced meanwhile, is made again and not called a rejected secret", async () => {
  let generation = 1;
  const results = [{ done: "not_sent" }, { done: "stored", refreshInSeconds: 60 }];
  const needs = {
    db: {
      query: async () => [
        {
          state: "active",
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
