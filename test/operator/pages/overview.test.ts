import type { Database } from "../../../src/database/database.ts";
import { eventually, opened } from "../../support/world.ts";
import { aWorldOfAnOperator } from "./operator.ts";

let uuid: string;
/** Results of statements, by the statement's name. */
let made: Record<string, unknown[]> = {};
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (asked, values) => (made[asked.name] as never) ?? database.query(asked, values),
});
const operator = opened(() => aWorldOfAnOperator({ parts: { wrapDatabase } }));
beforeAll(async () => {
  uuid = await operator.life.settled();
});

const overview = (...parts: string[]) =>
  eventually(async () => {
    const { text } = await operator.get();
    for (const part of parts) expect(text).toContain(part);
    return text;
  });

it("says that nothing needs attention, or which incident is open at the platform", async () => {
  await overview("Nothing. Tokens are exchanged and refreshed", "active 1");
  operator.control.openIncident({ title: "Slow dashboards" });
  await operator.world.restart();
  await overview("can wait 1 incident open at the platform: Slow dashboards Read more: kit status");
});

it("shows the ages of tokens and the refreshes per hour as plots with text", async () => {
  await operator.done(`/resources/${uuid}/refresh`);
  await operator.world.service.services.totals.stop();
  await overview("Age of the tokens in use", "0 s to 15 min: 1", "00: 1 refreshed, 0 failed");
  const { html } = await operator.get();
  expect(html.match(/<svg [^>]*role="img" aria-label="[^"]*: 1[^"]*"/g)).toHaveLength(2);
});

it("opens while the platform fails, without asking it for tokens, and so does a resource's page", async () => {
  const since = operator.life.position();
  operator.control.fault("* /*", { status: 503 }, 1_000);
  expect((await operator.get()).status).toBe(200);
  expect(operator.life.entries(since).filter(({ path }) => path === "/oauth/token")).toEqual([]);
  const page = await operator.get(`/resources/${uuid}`);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining("What happened")]);
  operator.control.clearFaults();
  operator.control.fault("GET /addons/*", { delayMs: 4_000 }, 10);
  expect((await operator.get(`/resources/${uuid}`)).text).toContain("The platform has not answered yet.");
  operator.control.clearFaults();
});

it("checks everything that the service needs, with a result for each", async () => {
  const { text, html } = await operator.get("/check-up");
  for (const part of ["database", "migrations", "keys", "secret", "sweeps", "platform"])
    expect(text).toContain(part);
  const states = html.matchAll(/<span class="state (\w+)">(\w+)</g);
  const looks = [...states].map(([, look, word]) => `${look} ${word}`);
  expect(new Set(looks)).toEqual(new Set(["well fine", "wait warning"]));
});

it("marks limited counts and estimates as such", async () => {
  const sample = (name: string, labels: object, value: number) => ({ sample: name, labels, value });
  made = {
    metrics_credentials: [{ state: "active", bucket: null, percent: 4, count: 2_000, age: 0 }],
    metrics: [
      sample("addon_due", { queue: "refreshes" }, 10_000),
      sample("addon_due", { queue: "steps" }, 9_999),
      sample("addon_due_age_seconds", { queue: "refreshes" }, 7_200),
      sample("addon_due_age_seconds", { queue: "steps" }, 60),
    ],
  };
  await overview("refreshes 10,000 or more (the oldest for 2 h)", "steps 9,999 (", "active about 50,000");
  made = {};
  expect(await overview("active 1 ")).not.toContain("about");
});

it("lists tokens that are about to expire, whatever the reason", async () => {
  await operator.world.restart({ environment: { WEB_JOBS: "off" } });
  const [{ uuid: ending }] = (await operator.world.rows<{ uuid: string }>(
    `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state)
       VALUES (gen_random_uuid(), 'about-to-end', 'basic', 'provisioned') RETURNING uuid)
     INSERT INTO credentials (uuid, state, attempts, due_at, expires_at, last_error)
     SELECT uuid, 'active', 5, now() - interval '1 hour', now() + interval '20 minutes 25 seconds', 'answered 503'
     FROM made RETURNING uuid`,
  )) as [{ uuid: string }];
  const late = "The refresh of 1 token fails, the first ends in 20 min. The last try: answered 503";
  expect(await overview(late)).not.toContain("Nothing.");
  expect((await operator.get("/check-up")).text).toMatch(/1 of \d+ checks failed.*tokens fault/);
  await operator.world.rows(`DELETE FROM credentials WHERE uuid = $1`, [ending]);
  await operator.world.rows(`DELETE FROM resources WHERE plan = 'about-to-end'`);
  await operator.world.restart();
});

it("lists what needs attention, the worst first, with advice", async () => {
  // No process repairs it meanwhile.
  await operator.world.restart({ environment: { WEB_JOBS: "off" } });
  await operator.world.rows(
    `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state)
       SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned' FROM generate_series(1, 4) RETURNING uuid)
     INSERT INTO credentials (uuid, state, reason) SELECT uuid,
       (ARRAY['no_grant', 'grant_lost', 'needs_reauth', 'quarantined'])[row_number() OVER ()],
       (ARRAY[NULL, 'expired', NULL, 'key_missing'])[row_number() OVER ()] FROM made`,
  );
  await operator.world.rows(
    `UPDATE client_secrets SET rejected_at = now(), probe_at = now() + interval '1 day'`,
  );
  await operator.world.rows(`UPDATE heartbeats SET at = now() - interval '1 hour'`);
  await operator.world.rows(
    `UPDATE credentials SET state = 'grant_pending', grant_deadline = now() + interval '90 seconds' WHERE uuid = $1`,
    [uuid],
  );
  const text = await overview("The platform rejects our client secret");
  const cards = (await operator.get()).html.match(
    /<article><p><span class="state (bad|wait)">(urgent|can wait)/g,
  );
  expect(cards).toHaveLength(8);
  const inOrder = [
    "The platform rejects our client secret",
    "Run kit secret set, and give it the one that the platform's partner portal shows.",
    "Late sweeps",
    "Start the web process with WEB_JOBS=on",
    "A grant waits for its exchange since",
    "1 resource no_grant",
  ];
  const places = inOrder.map((part) => text.indexOf(part));
  expect(places).toEqual([...places].sort((one, other) => one - other));
  expect(places[0]).toBeGreaterThan(0);
  for (const part of [
    "1 resource grant_lost (expired)",
    "1 resource needs_reauth: the platform refused",
    "1 resource quarantined (key_missing)",
    "Put the missing key into DECRYPTION_KEYS",
  ])
    expect(text).toContain(part);
  for (const state of ["grant_lost", "needs_reauth", "quarantined", "no_grant"])
    expect((await operator.get(`/resources?state=${state}`)).text).toContain(state);
});
