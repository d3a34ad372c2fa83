import { execFile, spawn } from "node:child_process";
import { createHmac, randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { offer } from "../../examples/message-queue/your-service/plans.ts";
import type { InstallWish } from "../../packages/sandbox/index.ts";
import { migrate } from "../../src/database/migrate.ts";
import { addonManifest } from "../../src/offer.ts";
import { aBrowser } from "../people/browser.ts";
import { SALT } from "../people/customers.ts";
import { type Answering, aServer } from "../platform/local-server.ts";
import { basic } from "../support/partner-calls.ts";
import { aProcessWorld, type ProcessWorld } from "../support/process-world.ts";
import { programsSelling } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { pressed } from "./customer.ts";

// The example of docs/extend-it.md with a real process, a sandbox, and a slow broker.

const SERVICE = "examples/message-queue/your-service";
const TOKEN = "a-token-that-the-broker-and-we-share";
const METRICS_PASSWORD = "a-password-of-the-scraper";
const BILLING = "a-token-of-our-own-billing";
const programs = await programsSelling(SERVICE);
const broker = aBroker();
const europe = aBroker("two");
let life: ProcessWorld;
let url: string;
beforeAll(async () => {
  life = await aProcessWorld({
    programs,
    sandbox: { addonManifest: addonManifest("pigeonpost", offer), ssoSalt: SALT },
    environment: {
      ...{ SWEEP_CRON: "* * * * * *", SSO_SALT: SALT, METRICS_PASSWORD },
      ...{ QUEUE_API_URL_US: (await aServer(broker.answer)).url, QUEUE_API_TOKEN: TOKEN },
      QUEUE_API_URL_EU: (await aServer(europe.answer)).url,
      BILLING_TOKEN: BILLING,
    },
  });
  await migrate({ url: life.world.environment["DATABASE_URL"]!, yours: path.resolve(SERVICE, "migrations") });
  url = (await life.start()).url!;
});
afterAll(() => life.close());

async function installed(wish: InstallWish = {}) {
  const app = life.control.createApp({}).name;
  const { addon, response } = await life.control.install({ app, plan: "loft", ...wish });
  return { uuid: addon.id, response, vars: () => life.control.configVars(app) };
}

function told(body: string, signedWith = TOKEN, what = "moved") {
  const signature = createHmac("sha256", signedWith).update(body).digest("hex");
  return fetch(`${url}/broker/${what}`, { method: "POST", headers: { "Broker-Signature": signature }, body });
}

describe("a queue of the example", () => {
  it("that the broker makes slowly is sold later, and reaches the app when it is ready", async () => {
    broker.asksBeforeReady = 2;
    const { uuid, response, vars } = await installed();
    expect(response.status).toBe(202);
    await eventually(async () => {
      await life.world.hurry(uuid);
      return vars()["PIGEON_URL"] === `https://one.broker.example/${uuid}`;
    });
  });

  it("is made with its limits and options by the broker of its region, and taken down there", async () => {
    const { uuid } = await installed({ region: "eu", plan: "tower", options: { order: "strict" } });
    const wish = { plan: "tower", messagesPerDay: 100_000, replay: true, order: "strict" };
    expect([europe.wishOf(uuid), broker.wishOf(uuid)]).toEqual([wish, undefined]);
    await life.world.quiet([uuid]);
    await life.control.deprovision(uuid);
    await eventually(() => !europe.queues.has(uuid));
  });

  it("with an option that the broker does not know is not made", async () => {
    const { uuid, response } = await installed({ options: { order: "any" } });
    expect(response).toMatchObject({ status: 422, body: { id: "invalid_options" } });
    expect(broker.wishOf(uuid)).toBeUndefined();
  });

  it("that the broker moves has its new address in the app", async () => {
    const { uuid, vars } = await installed();
    const moved = `https://two.broker.example/${uuid}`;
    expect((await told(JSON.stringify({ queue: uuid, url: moved }))).status).toBe(204);
    await eventually(() => vars()["PIGEON_URL"] === moved);
    expect(vars()["PIGEON_KEY"]).toBe("key");
  });

  it("whose key the broker found in public gets another; the old one ends when the app has had it for a while", async () => {
    const { uuid, vars } = await installed();
    await eventually(() => vars()["PIGEON_KEY"] === "key");
    expect((await told(JSON.stringify({ queue: uuid }), TOKEN, "leaked")).status).toBe(204);
    await eventually(() => /^key-/.test(vars()["PIGEON_KEY"] ?? ""));
    expect(broker.keysOf(uuid)).toEqual(["key", vars()["PIGEON_KEY"]]);
    // The broker is to repeat what leaks during the overlap.
    await eventually(async () =>
      expect((await told(JSON.stringify({ queue: uuid }), TOKEN, "leaked")).status).toBe(503),
    );
    await life.world.endOverlap(uuid);
    expect(broker.keysOf(uuid)).toEqual([vars()["PIGEON_KEY"]]);
  });

  it("is moved by its customer's button, and purged by an operator's command", async () => {
    const { uuid } = await installed();
    await life.world.quiet([uuid]);
    expect(await pressed(url, life, uuid, "move")).toContain("Your queue is being moved");
    const command = [programs("src/kit.ts"), "action", "purge", uuid];
    const env = { PATH: process.env["PATH"], ...life.world.environment };
    const { stdout } = await promisify(execFile)(process.execPath, command, { env, cwd: tmpdir() });
    expect(stdout).toBe("7 messages were thrown away.\n");
    expect(broker.told).toEqual([`POST /queues/${uuid}/moves`, `DELETE /queues/${uuid}/messages`]);
  });

  it("that only the broker has is found, and taken down there; an export has what was metered", async () => {
    const { uuid } = await installed();
    await life.world.quiet([uuid]);
    const orphan = randomUUID();
    // In Europe: of an orphan the region is not known.
    europe.queues.add(orphan);
    const run = async (words: string[], input = "") => {
      const env = { PATH: process.env["PATH"], ...life.world.environment };
      const child = spawn(process.execPath, [programs("src/kit.ts"), ...words], { env, cwd: tmpdir() });
      child.stdin.end(input);
      return text(child.stdout);
    };
    const { addons } = life.control.state();
    const list = addons.flatMap(({ id, state }) => (state === "provisioned" ? [id] : [])).join("\n");
    const fix = ["reconcile", "--platform-list", "--fix", "orphan_at_backend", "--yes", "--json"];
    expect(await run(["reconcile", "--json"])).toContain(`"theirs":"in your backend, host two"`);
    expect(JSON.parse(await run(fix, list))).toMatchObject({ fixed: 1, differences: [] });
    await eventually(() => !europe.queues.has(orphan));
    await life.world.rows(`INSERT INTO yours.usage (uuid, day, messages) VALUES ($1, '2026-01-31', 12)`, [
      uuid,
    ]);
    expect(JSON.parse(await run(["resources", "export", uuid]))).toMatchObject({
      yours: [{ day: "2026-01-31", messages: 12 }],
    });
  });

  it.each([
    ["without the broker's signature", () => told("{}", "another"), 401],
    ["about a queue that is not there", () => told(JSON.stringify({ queue: randomUUID(), url: "x" })), 404],
  ])("is not moved by a message %s", async (_what, send, status) => {
    expect((await send()).status).toBe(status);
  });

  it("is metered at its time, into a table of the vendor's", async () => {
    const { uuid } = await installed();
    await life.world.quiet([uuid]);
    await life.world.runJob("meter");
    const used = `SELECT messages::int, (now() AT TIME ZONE 'UTC')::date - day AS ago FROM yours.usage WHERE uuid = $1 ORDER BY day`;
    const days = [3, 2, 1].map((ago) => ({ messages: 7, ago }));
    expect(await life.world.rows(used, [uuid])).toEqual(days);
    // Its customer's page reads them through Prisma's client: the last 30 days, and no others.
    await life.world.rows(
      `INSERT INTO yours.usage VALUES ($1, (now() AT TIME ZONE 'UTC')::date - 40, 1000)`,
      [uuid],
    );
    const browser = aBrowser(() => url);
    await browser.post("/sso/login", {}, new URLSearchParams(life.control.signOnForm(uuid).form));
    const get = (path = "") => browser.get(`/customer/${uuid}${path}`);
    const { text } = await get();
    expect(text).toContain("21 messages in the last 30 days");
    expect(text).toMatch(/aria-label="Messages a day, \d+ \w+ to \d+ \w+: at least 7, at most 7 /);
    // Day by day: three days have a bar, and all others no value.
    const [link] = /\/pages\/usage/.exec(text)!;
    const usage = (await get(link)).text;
    expect(usage.match(/<title>\d+ \w+: 7<\/title>/g)).toHaveLength(3);
    expect(usage.match(/: no value<\/title>/g)).toHaveLength(27);
    const [file] = /\/downloads\/usage\.csv/.exec(usage)!;
    const saved = await get(file);
    expect(saved.text).toMatch(/^Day,Messages\r\n\d{4}-\d\d-\d\d,1000\r\n(\d{4}-\d\d-\d\d,7\r\n){3}$/);
    // What the broker took, and how many queues were metered, is in the metrics.
    const authorization = basic("metrics", METRICS_PASSWORD);
    await eventually(async () => {
      const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
      expect(metrics).toMatch(/^pigeon_broker_seconds_count\{method="GET"\} [1-9]/m);
      expect(metrics).toMatch(/^pigeon_metered_queues [1-9]/m);
    });
  });
});

const DAY_SECONDS = 24 * 3_600;
const suspensionOf = (uuid: string) =>
  life.world.rows(`SELECT suspend_reason AS reason FROM resources WHERE uuid = $1`, [uuid]);
const jobsRan = async (until: () => Promise<unknown>) =>
  eventually(async () => {
    await life.world.forged.idleJobsAreDue();
    await until();
  });

it("a trial ends after 14 days, as its customer reads before; the plan that the customer then chooses resumes it", async () => {
  const { uuid } = await installed();
  const other = await installed();
  await life.world.quiet([uuid, other.uuid]);
  await life.world.forged.resourceIsFrom([uuid], 14 * DAY_SECONDS + 60);
  await life.world.forged.resourceIsFrom([other.uuid], 14 * DAY_SECONDS - 600);
  const browser = aBrowser(() => url);
  const read = async (which: string) => {
    await browser.post("/sso/login", {}, new URLSearchParams(life.control.signOnForm(which).form));
    return (await browser.get(`/customer/${which}`)).text;
  };
  await jobsRan(async () => expect(broker.paused).toEqual(new Set([uuid])));
  await eventually(async () =>
    expect(await suspensionOf(uuid)).toEqual([
      { reason: expect.stringMatching(/^The 14 days of your trial/) },
    ]),
  );
  expect(await read(uuid)).toMatch(/Suspended<\/span> <bdi>The 14 days of your trial are over/);
  expect(await read(other.uuid)).toMatch(/Your trial ends on <time dateTime="[^"]*">\d+ \w+ 20\d\d/i);
  expect(await read(other.uuid)).not.toContain("Suspended");
  expect((await life.control.changePlan(uuid, "tower")).response.status).toBe(200);
  await eventually(async () => expect(await suspensionOf(uuid)).toEqual([{ reason: null }]));
  expect(broker.paused).toEqual(new Set());
});

describe("the bill of a month", () => {
  const month = (monthsAgo: number) => {
    const at = new Date();
    at.setUTCDate(1);
    at.setUTCMonth(at.getUTCMonth() - monthsAgo);
    return at.toISOString().slice(0, 7);
  };
  const ask = (path: string, token = BILLING) =>
    fetch(`${url}/billing/${path}`, { headers: { authorization: `Bearer ${token}` } });
  interface Bill {
    isFinal: boolean;
    notMetered: string[];
    lines: { uuid: string; plan: string; messages: number; cents: number }[];
  }
  const billOf = async (which: string) => (await (await ask(which)).json()) as Bill;
  const linesOf = async (uuid: string, which: string) =>
    (await billOf(which)).lines.filter((line) => line.uuid === uuid);
  const used = (uuid: string, day: string, messages: number, plan: string) =>
    life.world.rows(`INSERT INTO yours.usage (uuid, day, messages, plan) VALUES ($1, $2, $3, $4)`, [
      ...[uuid, day, messages, plan],
    ]);

  it("has each queue by the plans that it had on its days, to the cent, and the same each time", async () => {
    const uuid = randomUUID();
    const [before, last] = [month(3), month(2)];
    await used(uuid, `${before}-28`, 5_000, "tower");
    await used(uuid, `${last}-01`, 400, "loft");
    await used(uuid, `${last}-02`, 1_000, "tower");
    await used(uuid, `${last}-28`, 1_001, "tower");
    const lines = [
      { uuid, plan: "loft", messages: 400, cents: 0 },
      { uuid, plan: "tower", messages: 2_001, cents: 3 },
    ];
    expect(await linesOf(uuid, last)).toEqual(lines);
    expect(await linesOf(uuid, last)).toEqual(lines);
    expect(await billOf(last)).toMatchObject({ month: last, isFinal: true, notMetered: [] });
    expect(await linesOf(uuid, before)).toEqual([{ uuid, plan: "tower", messages: 5_000, cents: 5 }]);
  });

  it("has the last day of a queue that has ended, also if the broker does not answer at first", async () => {
    const { uuid } = await installed();
    await life.world.quiet([uuid]);
    await life.control.changePlan(uuid, "tower");
    broker.isMute = true;
    await life.control.deprovision(uuid);
    await eventually(
      async () =>
        (await life.world.rows(`SELECT FROM steps WHERE uuid = $1 AND last_error IS NOT NULL`, [uuid]))
          .length > 0,
    );
    expect(broker.queues.has(uuid)).toBe(true);
    expect(await billOf(month(0))).toMatchObject({
      isFinal: false,
      notMetered: expect.arrayContaining([uuid]),
    });
    broker.isMute = false;
    await eventually(async () => {
      await life.world.forged.stepsFellDue(uuid);
      expect(await life.world.rows(`SELECT FROM steps WHERE uuid = $1`, [uuid])).toEqual([]);
    });
    expect(broker.queues.has(uuid)).toBe(false);
    const days = `SELECT (now() AT TIME ZONE 'UTC')::date - day AS ago, plan, messages::int FROM yours.usage WHERE uuid = $1 ORDER BY day`;
    const each = [3, 2, 1, 0].map((ago) => ({ ago, plan: "tower", messages: 7 }));
    expect(await life.world.rows(days, [uuid])).toEqual(each);
    expect((await billOf(month(0))).notMetered).not.toContain(uuid);
  });

  it("is not final while a queue that was there on its last day is not metered", async () => {
    const { uuid } = await installed();
    await life.world.quiet([uuid]);
    await life.world.forged.resourceIsFrom([uuid], 80 * DAY_SECONDS);
    const last = month(1);
    expect(await billOf(last)).toMatchObject({ isFinal: false, notMetered: expect.arrayContaining([uuid]) });
    const [day] = await life.world.rows<{ day: string }>(
      `SELECT ($1::date + interval '1 month' - interval '1 day')::date::text AS day`,
      [`${last}-01`],
    );
    await used(uuid, day!.day, 1, "tower");
    expect((await billOf(last)).notMetered).not.toContain(uuid);
  });

  it.each([
    ["without its token", () => ask(month(0), "another"), 401],
    ["of what is no month", () => ask("2026-13"), 400],
  ])("is not given %s", async (_what, send, status) => {
    expect((await send()).status).toBe(status);
  });
});

/** A broker with an API of its own. */
function aBroker(host = "one") {
  const asked = new Map<string, number>();
  const keys = new Map<string, string[]>();
  const keysOf = (uuid: string) => keys.get(uuid) ?? keys.set(uuid, ["key"]).get(uuid)!;
  const queues = new Set<string>();
  const paused = new Set<string>();
  const wishes = new Map<string, unknown>();
  const wishOf = (uuid: string) => wishes.get(uuid);
  const told: string[] = [];
  const state = { asksBeforeReady: 0, isMute: false, told, keysOf, queues, paused, wishOf };

  const answer: Answering = ({ method, url, headers, body }, response) => {
    const send = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    const [, , uuid = "", part, id = ""] = url.replace(/\?day=\d{4}-\d\d-\d\d$/, "").split("/");
    if (headers.authorization !== `Bearer ${TOKEN}`) return send(401, {});
    if (url.startsWith("/queues?after=")) {
      // Two a page.
      const left = [...queues].sort().filter((id) => id > url.replace("/queues?after=", ""));
      const page = left.slice(0, 2).map((id) => ({ id, host }));
      return send(200, { queues: page, next: left.length > 2 ? page[1]!.id : null });
    }
    if (state.isMute) return send(503, {});
    if (part === "usage" && !queues.has(uuid)) return send(404, {});
    if (part === "pause")
      return send(200, { was: method === "PUT" ? !!paused.add(uuid) : paused.delete(uuid) });
    if (!part && method === "PUT") {
      queues.add(uuid);
      wishes.set(uuid, JSON.parse(body));
    }
    if (!part && method === "DELETE") queues.delete(uuid);
    if (part === "moves" || part === "messages") state.told.push(`${method} ${url}`);
    if (part && part !== "keys") return send(200, { messages: 7 });
    const of = keysOf(uuid);
    if (part === "keys" && method === "DELETE") {
      const left = of.filter((key) => key !== id);
      keys.set(uuid, left);
      return send(200, {});
    }
    if (part === "keys") {
      if (!of.includes(`key-${id}`)) of.push(`key-${id}`);
      return send(200, { key: of.at(-1), replaces: of[0] });
    }
    const asks = (asked.get(uuid) ?? 0) + 1;
    asked.set(uuid, asks);
    const isReady = asks > state.asksBeforeReady;
    if (isReady) state.asksBeforeReady = 0;
    return send(200, { isReady, url: `https://${host}.broker.example/${uuid}`, key: of.at(-1) });
  };
  return Object.assign(state, { answer });
}
