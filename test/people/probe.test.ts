import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createOAuthClient } from "../../src/people/oauth-client.ts";
import { createOpening } from "../../src/people/tokens/opening.ts";
import { createRefresh } from "../../src/people/tokens/refresh.ts";
import { createTokenStore } from "../../src/people/tokens/store.ts";
import { KitError } from "../../src/errors.ts";
import { Secret } from "../../src/secret.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

// One refresh finds out whether the platform accepts the OAuth client again, however many are due.

let people: PeopleWorld;
beforeAll(async () => void (people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" } })));
afterAll(() => people.close());

it("while the OAuth client is rejected, one due pair a minute is tried", async () => {
  for (const user of ["owner@example.com", "colleague@example.com", "newcomer@example.com"])
    await people.signIn(people.browser(), { user });
  const { log, scrubber, vault } = people.world.service.services;
  const store = createTokenStore(people.world.db);
  let now = 0;
  let calls = 0;
  const client = createOAuthClient({ id: "teapots", secret: new Secret("s".repeat(32)) }, log, () => now);
  const refuse = () => {
    calls += 1;
    const error = new KitError("client_rejected", "It is not ours.");
    return Promise.resolve({ outcome: "client_rejected" as const, error, retryAfterMs: 0 });
  };
  const refresh = createRefresh({
    ...{ store, opening: createOpening({ vault, store, log }), client, vault, scrubber, log },
    endpoint: { exchange: refuse, refresh: refuse },
    onRefreshEnd: () => undefined,
  });
  const look = async () => {
    await people.world.rows(`UPDATE people SET due_at = now(), leased_until = NULL`);
    await refresh.due(new AbortController().signal);
    await refresh.settled();
  };

  client.rejected();
  await look();
  expect(calls).toBe(0);
  for (const sent of [1, 2]) {
    now += 60_000;
    await look();
    await look();
    expect(calls).toBe(sent);
  }
});
