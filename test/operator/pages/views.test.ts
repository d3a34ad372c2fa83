import { randomUUID } from "node:crypto";
import type { Database } from "../../../src/database/database.ts";
import { type DoctorReport, findingsOf } from "../../../src/operator/doctor/doctor.ts";
import { URGENCIES, type Urgency } from "../../../src/operator/facts/fact.ts";
import { ALL } from "../../support/forged.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { eventually, opened } from "../../support/world.ts";
import { aWorldOfAnOperator } from "./operator.ts";

// What the pages show.

let uuid: string;
/** Results of statements, by the statement's name. */
let made: Record<string, unknown[]> = {};
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (asked, ...values) => (made[asked.name] as never) ?? database.query(asked, ...values),
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
    await overview(
      "Nothing. Grants are exchanged, tokens refreshed",
      "all is well 1 customer, 1 new and 0 gone",
      "active 1",
    );
    operator.control.openIncident({ title: "Slow dashboards" });
    await operator.world.restart();
    await overview(
      "can wait The platform has an incident",
      "1 incident open at the platform: Slow dashboards",
    );
  });

  it("shows the ages of tokens and the refreshes per hour as plots with text", async () => {
    await operator.done(`/resources/${uuid}/refresh`);
    await operator.world.service.services.totals.stop();
    await overview("Age of the tokens in use Highest bar, 0 s to 15 min: 1.", "00: 1 refreshed, 0 failed.");
    const { html } = await operator.get();
    expect(html.match(/<svg [^>]*role="img" aria-label="[^"]*: 1[^"]*"/g)).toHaveLength(2);
  });

  it("opens while the platform fails, and so does a resource's page", async () => {
    operator.control.fault("* /*", { status: 503 }, 1_000);
    await overview("The platform fails");
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
    expect(new Set(looks)).toEqual(new Set(["well fine", "wait warning", "gone remark"]));
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
});

const uuidsIn = (html: string) =>
  [...html.matchAll(/href="\/operator\/resources\/([0-9a-f-]{36})"/g)].map(([, uuid]) => uuid!);
const appOf = (uuid: string) => operator.control.addon(uuid).app.name;

it("the list of resources finds by a text and by a state, and has more pages", async () => {
  const listed = async (query: string) => uuidsIn((await operator.get(`/resources?${query}`)).html);
  expect(await listed(`text=${appOf(uuid)}&state=active`)).toEqual([uuid]);
  expect(await listed(`text=${uuid}&state=needs_reauth`)).toEqual([]);
  expect((await operator.get("/resources?text=%00%F0%9F%8D%B5%27")).text).toContain(" None. ");
  const many = Array.from({ length: 130 }, () => randomUUID());
  for (const each of many) await operator.world.forged.aResourceIsStored({ uuid: each });
  const seen: string[] = [];
  for (let query: string | undefined = "state=no_grant&sort=name"; query !== undefined;) {
    const { html, text } = await operator.get(`/resources?${query.replaceAll("&amp;", "&")}`);
    expect(text).toMatch(/ (25|5) of 130 resources /);
    seen.push(...uuidsIn(html));
    [, query] = /href="\/operator\/resources\?([^"]+)">Next page</.exec(html) ?? [];
  }
  expect([seen.length, new Set(seen).size]).toEqual([130, 130]);
  await operator.world.forged.resourcesWereNeverStored(many);
});

it("the events are shown page by page, each once, and narrowed by type, plan and app", async () => {
  const cellsIn = (html: string) => html.split("<tbody>")[1]!.split("<tr>").slice(1);
  const all: string[] = [];
  const many = Array.from({ length: 30 }, () => randomUUID());
  for (const each of many) await operator.world.forged.aResourceIsStored({ uuid: each });
  for (let path: string | undefined = "/events"; path !== undefined;) {
    const { html } = await operator.get(path.replaceAll("&amp;", "&"));
    all.push(...cellsIn(html));
    [, path] = /href="\/operator(\/events\?[^"]+)">Older ones</.exec(html) ?? [];
  }
  expect(new Set(all).size).toBe(all.length);
  for (const each of [...many, uuid])
    expect(all.filter((row) => row.includes(each) && row.includes("provision requested"))).toHaveLength(1);
  const { text, html } = await operator.get(`/events?type=exchanged&plan=basic&app=${appOf(uuid)}`);
  expect(cellsIn(html)).toHaveLength(1);
  expect(text).toContain("tokens issued");
  await operator.world.forged.resourcesWereNeverStored(many);
});

it("an address names what it is not: a parameter, a state, a type, a place", async () => {
  for (const [path, words] of [
    ["/resources?stat=failed", 'This page has no parameter "stat". Known: text, state, failing,'],
    ["/resources?state=asleep", 'There is no state "asleep"'],
    ["/resources?state=failed&state=active", 'The parameter "state" must be given once, as text.'],
    ["/resources?after=9", '"9" is not a place in the list'],
    ["/events?type=luck", 'There is no type "luck"'],
    ["/events?after=e1.x2", '"e1.x2" is not a place among the events'],
    ["/ledgers?a=b", 'This page has no parameter "a". It takes none.'],
  ] as const) {
    const { status, text } = await operator.get(path);
    expect([path, status, text]).toEqual([path, 400, expect.stringContaining(words)]);
  }
  // An address of the release before.
  expect((await operator.get(`/resources?text=&state=&after=${uuid}`)).status).toBe(200);
});

describe("the page of a resource", () => {
  it("shows its next refresh, apps and events", async () => {
    const { text } = await operator.get(`/resources/${uuid}`);
    for (const part of [
      "Next refresh",
      `${appOf(uuid)} , where it was installed`,
      "tokens issued",
      "provision requested",
    ])
      expect(text).toContain(part);
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
    Promise.all([world.forged.stepsWereTried(ALL, times), world.forged.stepsAreDueIn(ALL, 300)]);
  const steps = async () => {
    const { data } = await kitJson<DoctorReport>(world.environment, ["doctor"]);
    return data.checks.find(({ id }) => id === "steps");
  };
  await tried(11);
  expect(await steps()).toMatchObject({ ok: true, fix: null });
  await tried(12);
  const whom = { count: 1, uuids: [uuid], some: [{ uuid, plan: "dedicated" }], list: { failing: "finish" } };
  const message = expect.stringContaining("finish");
  expect(await steps()).toMatchObject({ ok: false, fact: "steps_stuck", message, whom });

  const words = ["resources", "show", uuid];
  const { stdout } = await kit(world.environment, words);
  expect(stdout).toMatch(
    /Waiting steps\n {2}finish +12 tries, the next .* \(in [45] min\)\n.*The kiln is cold\./,
  );
  const nextTryAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const step = {
    kind: "finish",
    tries: 12,
    lastError: "The kiln is cold.",
    said: null,
    plan: null,
    nextTryAt,
  };
  const { data } = await kitJson(world.environment, words);
  expect(data["steps"]).toContainEqual({ ...step, isUnderWay: false });
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

const CARDS = /<article class="fact (\w+)(?: caused)?"><h[23]><span[^>]*>[^<]*<\/span> ([^<]*)/g;

it("lists what needs attention, the worst first, with advice", async () => {
  // No process repairs it meanwhile.
  await operator.world.restart({ environment: { WEB_JOBS: "off" } });
  const { forged } = operator.world;
  for (const [credential, reason] of [
    ["no_grant", null],
    ["grant_lost", "expired"],
    ["needs_reauth", null],
    ["quarantined", "key_missing"],
    ["quarantined", "integrity"],
  ] as const)
    await forged.aResourceIsStored({ uuid: randomUUID(), credential, reason });
  operator.control.partner({ clientSecret: "reset-meanwhile-in-the-portal" });
  await forged.noJobRanFor(3_600);
  await forged.grantIsPending(uuid, { leftSeconds: 90, inSeconds: 3_600 });
  const text = await overview("The platform rejects our client secret");
  const { html } = await operator.get();
  expect([...html.matchAll(CARDS)].map(([, urgency, title]) => `${urgency}: ${title}`)).toEqual([
    "urgent: The platform rejects our client secret",
    "urgent: A grant has not been exchanged",
    "urgent: A job of the kit has not run",
    "urgent: A grant was lost",
    "urgent: The platform refuses refresh tokens for good",
    "urgent: Credentials cannot be decrypted",
    "urgent: Credentials cannot be decrypted",
    "later: A provision came without a grant",
    "later: The platform has an incident",
    "remark: Some settings are remarkable",
    ...(html.includes("gets no security fixes")
      ? ["remark: This version of Node gets no security fixes"]
      : []),
  ]);
  for (const part of [
    "Run kit secret set, and give it the one that the platform's partner portal shows.",
    "Start the web process with WEB_JOBS=on",
    "1 resource in state grant_lost (expired)",
    "1 resource in state needs_reauth: the platform refused",
    "1 resource in state quarantined (key_missing)",
    "Put the missing key into DECRYPTION_KEYS",
    "1 resource in state quarantined (integrity)",
    "kit tokens refresh UUID may bring fresh tokens",
  ])
    expect(text).toContain(part);

  // What one knows, the others say.
  const { data } = await kitJson<DoctorReport>(operator.world.environment, ["doctor"]);
  const urgentFirst = (all: readonly { urgency?: Urgency; title?: string | undefined }[]) =>
    URGENCIES.flatMap((urgency) => all.filter((each) => each.urgency === urgency).map(({ title }) => title));
  const titles = urgentFirst(findingsOf(data));
  // Behind a cause stands what it causes, whatever is more urgent further down.
  expect([...html.matchAll(CARDS)].map(([, , title]) => title).sort()).toEqual(titles.toSorted());
  const checkUp = [...(await operator.get("/check-up")).html.matchAll(CARDS)];
  expect(urgentFirst(checkUp.map(([, urgency, title]) => ({ urgency: urgency as Urgency, title })))).toEqual(
    titles,
  );
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
