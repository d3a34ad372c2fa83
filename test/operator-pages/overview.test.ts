import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { eventually } from "../support/world.ts";
import { aWorldOfAnOperator, type OperatorWorld } from "./operator.ts";

let operator: OperatorWorld;
let uuid: string;
beforeAll(async () => {
  operator = await aWorldOfAnOperator();
  uuid = await operator.life.settled();
}, 60_000);
afterAll(() => operator.close());

/** What is counted is looked at anew after two seconds. */
const overview = (...parts: string[]) =>
  eventually(async () => {
    const { text } = await operator.get();
    for (const part of parts) expect(text).toContain(part);
    return text;
  });

it("says that nothing needs attention when all is well, with the platform's status beside it", async () => {
  operator.control.openIncident({ title: "Slow dashboards" });
  await overview("Nothing. Tokens are exchanged and refreshed", "Slow dashboards", "active 1");
});

it.each([
  ["grant_lost", "expired", "Ask the platform to deliver the provision again"],
  ["needs_reauth", null, "Ask the platform's support"],
  ["quarantined", "key_missing", "Put the missing key into DECRYPTION_KEYS"],
  ["no_grant", null, "Ask the platform to deliver the provision again"],
])("says of a resource that is %s what to do", async (state, reason, todo) => {
  // Nothing is due, so that nobody mends it meanwhile.
  const put = (values: unknown[]) =>
    operator.world.rows(`UPDATE credentials SET state = $2, reason = $3, due_at = NULL WHERE uuid = $1`, [
      uuid,
      ...values,
    ]);
  await put([state, reason]);
  await overview(`1 resource ${state}`, todo, "See it");
  expect((await operator.get(`/resources?state=${state}`)).text).toContain(uuid);
  await put(["active", null]);
  await overview("Nothing. Tokens");
});

it("says when the client secret is rejected, when sweeps are late, and that refreshes were held back", async () => {
  await operator.world.restart({ environment: { WEB_JOBS: "off" } });
  await operator.world.rows(`UPDATE client_secrets SET rejected_at = now(), probe_at = now() + interval '1 day'`);
  await operator.world.rows(`UPDATE heartbeats SET at = now() - interval '1 hour'`);
  await operator.world.rows(
    `INSERT INTO metric_hours VALUES (date_trunc('hour', now(), 'UTC'), 'addon_refresh_breaker_openings_total', '{}', 2)`,
  );
  const text = await overview("The platform rejects our client secret", "Late sweeps", "held back 2 times");
  expect(text).toContain("Hurry: grants that come meanwhile live five minutes.");
  await operator.world.rows(`UPDATE client_secrets SET rejected_at = NULL, probe_at = NULL`);
  await operator.world.restart();
}); // prettier-ignore

it("draws the tokens' ages and the refreshes of each hour, with the numbers in words", async () => {
  await operator.done(`/resources/${uuid}/refresh`);
  await operator.world.service.services.keptMetrics.stop();
  await overview("Age of the tokens in use", "0 s to 15 min: 1", "1 refreshed, 0 failed");
  const { html } = await operator.get();
  expect(html.match(/<svg [^>]*role="img"/g)).toHaveLength(2);
});

it("is shown while the platform is in trouble", async () => {
  operator.control.fault("* *", { status: 503 }, 1_000);
  const { status } = await operator.get();
  expect(status).toBe(200);
  const page = await operator.get(`/resources/${uuid}`);
  expect(page.status).toBe(200);
  expect(page.text).toContain("What happened");
  operator.control.clearFaults();
});

it("looks at everything the service needs", async () => {
  const { text } = await operator.get("/check-up");
  for (const part of ["database", "migrations", "keys", "secret", "sweeps", "platform"])
    expect(text).toContain(part);
});
