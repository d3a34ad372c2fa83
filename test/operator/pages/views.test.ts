import { LOOKS_AGAIN } from "../../../src/operator/pages/frame.tsx";
import { aWorldOfAnOperator } from "./operator.ts";
import type { DoctorReport } from "../../../src/operator/doctor/doctor.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { eventually, opened } from "../../support/world.ts";
import type { Database } from "../../../src/database/database.ts";

// What the pages show.

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

describe("the overview", () => {
  it("says that nothing needs attention, or which incident is open at the platform", async () => {
    await overview("Nothing. Tokens are exchanged and refreshed", "active 1");
    operator.control.openIncident({ title: "Slow dashboards" });
    await operator.world.restart();
    await overview("can wait 1 incident open at the platform: Slow dashboards Read more: kit status");
  });

  it("shows the ages of tokens and the refreshes per hour as plots with text", async () => {
    await operator.done(`/resources/${uuid}/refresh`);
    await operator.world.service.services.totals.stop();
    await overview("Age of the tokens in use Highest bar, 0 s to 15 min: 1.", "00: 1 refreshed, 0 failed.");
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
      metrics_credentials: [{ state: "active", bucket: 0, percent: 4, count: 2_000, age: 0 }],
      metrics: [
        sample("addon_due", { queue: "refreshes" }, 10_000),
        sample("addon_due", { queue: "steps" }, 9_999),
        sample("addon_due_age_seconds", { queue: "refreshes" }, 7_200),
        sample("addon_due_age_seconds", { queue: "steps" }, 60),
      ],
    };
    await overview(
      "refreshes 10,000 or more (the oldest for 2 h)",
      "steps 9,999 (",
      "active about 50,000",
      ": about 50000.",
    );
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
});

const uuidsIn = (html: string) =>
  [...html.matchAll(/href="\/operator\/resources\/([0-9a-f-]{36})"/g)].map(([, uuid]) => uuid!);
const listed = async (query: string) => uuidsIn((await operator.get(`/resources?${query}`)).html);
const appOf = (uuid: string) => operator.control.addon(uuid).app.name;

describe("the list of resources", () => {
  let uuids: string[];
  beforeAll(async () => {
    uuids = [uuid, await operator.life.settled("premium")];
  });

  it("has all of them, the newest first", async () => {
    expect(await listed("")).toEqual([...uuids].reverse());
  });

  it("finds by a text, and by state", async () => {
    const other = uuids[1]!;
    expect(await listed(`text=${uuid.slice(0, 13).toUpperCase()}`)).toEqual([uuid]);
    expect(await listed(`text=${appOf(uuid).slice(0, 12)}`)).toContain(uuid);
    expect(await listed(`text=${other}&state=active`)).toEqual([other]);
    expect(await listed(`text=${other}&state=needs_reauth`)).toEqual([]);
    expect(await listed("text=nothing-like-it")).toEqual([]);
    expect(await listed("text=%25")).toEqual([]);
    expect((await operator.get("/resources?text=%00%F0%9F%8D%B5%27")).text).toContain(" None. ");
  });

  it("has pages without gaps and duplicates", async () => {
    await operator.world.rows(
      `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state, name)
         SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned', 'many-' || n FROM generate_series(1, 230) n RETURNING uuid)
       INSERT INTO credentials (uuid, state) SELECT uuid, 'no_grant' FROM made`,
    );
    const seen: string[] = [];
    for (let address: string | undefined = "/resources?text=many-"; address;) {
      const { html } = await operator.get(address);
      seen.push(...uuidsIn(html));
      const [, next] = /href="\/operator([^"]+)">Older ones</.exec(html) ?? [];
      address = next?.replaceAll("&amp;", "&");
      expect(seen.length).toBeLessThan(300);
    }
    expect([seen.length, new Set(seen).size]).toEqual([230, 230]);
    await operator.world.rows(`DELETE FROM credentials WHERE state = 'no_grant'`);
    await operator.world.rows(`DELETE FROM resources WHERE name LIKE 'many-%'`);
  });
});

describe("the page of a resource", () => {
  it("shows its next refresh, apps and events, and the page of a push config vars without values", async () => {
    const { text } = await operator.get(`/resources/${uuid}`);
    for (const part of ["Next refresh", appOf(uuid), "tokens issued"]) expect(text).toContain(part);
    expect((await operator.get(`/resources/${uuid}/push`)).text).toMatch(/TEAPOT_TOKEN same TEAPOT_URL same/);
  });

  it("updated by the script contains the current state, and asks the platform nothing", async () => {
    const asked = async (headers: Record<string, string>) => {
      const since = operator.life.position();
      const { html } = await operator.get(`/resources/${uuid}`, headers);
      expect([...html.matchAll(/ id="(\w+)" data-live="/g)].map(([, id]) => id)).toEqual([
        "record",
        "steps",
        "timeline",
      ]);
      return operator.life.entries(since).filter(({ direction }) => direction === "in").length;
    };
    expect(await asked({})).toBeGreaterThan(1);
    expect(await asked({ [LOOKS_AGAIN]: "1" })).toBe(0);
    expect((await operator.get("/assets/live.js")).html).toContain(`"${LOOKS_AGAIN}": "1"`);
  });

  it("opens for a removed resource without asking the platform", async () => {
    const { addon } = await operator.control.install({ plan: "basic" });
    await operator.world.quiet([addon.id]);
    await operator.control.deprovision(addon.id);
    const { status, text } = await operator.get(`/resources/${addon.id}`);
    expect([status, text]).toEqual([200, expect.stringContaining("deprovisioned")]);
    expect(text).not.toContain("Refresh its token");
    const push = await operator.get(`/resources/${addon.id}/push`);
    expect([push.status, push.text]).toEqual([409, expect.stringContaining("That cannot be done")]);
  });
});

it("a step that keeps failing is shown on its resource's page, by kit, as a fault, and to be seen to", async () => {
  const { life, world, control } = operator;
  for (let tries = 0; tries < 20; tries++)
    life.vendor.next("finish", () => Promise.reject(new Error("The kiln is cold.")));
  const uuid = (await control.install({ plan: "dedicated" })).addon.id;
  await eventually(async () => {
    expect(await world.rows(`SELECT 1 FROM steps WHERE last_error IS NOT NULL`)).toHaveLength(1);
  });
  // No process runs it meanwhile.
  await world.restart({ environment: { WEB_JOBS: "off" } });
  const tried = (times: number) =>
    world.rows(`UPDATE steps SET attempts = $1, due_at = now() + interval '5 minutes', leased_until = NULL`, [
      times,
    ]);
  const steps = async () => {
    const { data } = await kitJson<DoctorReport>(world.environment, ["doctor"]);
    return data.checks.find(({ id }) => id === "steps");
  };
  await tried(11);
  expect(await steps()).toMatchObject({ ok: true, fix: null });
  await tried(12);
  const fix = expect.stringContaining(`kit resources show ${uuid}`);
  expect(await steps()).toMatchObject({ ok: false, message: expect.stringContaining("finish"), fix });

  const words = ["resources", "show", uuid];
  const { stdout } = await kit(world.environment, words);
  expect(stdout).toMatch(/Waiting steps\n {2}finish +12 tries, the next \d{4}-.* \(in [45] min\)\n/);
  expect(stdout).toContain("The kiln is cold.");
  const nextTryAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const step = { kind: "finish", tries: 12, lastError: "The kiln is cold.", said: null, nextTryAt };
  expect((await kitJson(world.environment, words)).data["steps"]).toContainEqual({
    ...{ ...step, isUnderWay: false },
  });
  expect((await operator.get(`/resources/${uuid}`)).text).toMatch(
    /finish 12 .* \(in [45] min\) The kiln is cold\./,
  );
  expect((await operator.get()).text).toContain("1 step failed again and again");
  // What follows finds it mended.
  life.vendor.asUsual();
  await world.restart();
  await life.hurry(uuid);
  await life.nothingLeft(uuid);
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

it("no page of these tests contained a secret", async () => {
  const ledger = operator.control.ledger({ reveal: true });
  const secrets = JSON.stringify(ledger).match(/SVCK-[\w-]+/g) ?? [];
  const config = Object.values(operator.life.varsAt(uuid));
  const all = [...new Set(secrets), ...config, "a-password-of-the-operator"];
  expect(all.length).toBeGreaterThan(4);
  expect(operator.shown.length).toBeGreaterThan(10);
  for (const secret of all) expect(operator.shown.filter((html) => html.includes(secret))).toEqual([]);
});
