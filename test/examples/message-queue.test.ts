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
import { aProcessWorld, type ProcessWorld } from "../support/process-world.ts";
import { programsSelling } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { pressed } from "./customer.ts";

// The example of docs/extend-it.md with a real process, a sandbox, and a slow broker.

const SERVICE = "examples/message-queue/your-service";
const TOKEN = "a-token-that-the-broker-and-we-share";
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
      ...{ SWEEP_CRON: "* * * * * *", SSO_SALT: SALT },
      ...{ QUEUE_API_URL_US: (await aServer(broker.answer)).url, QUEUE_API_TOKEN: TOKEN },
      QUEUE_API_URL_EU: (await aServer(europe.answer)).url,
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
    const { text } = await browser.get(`/customer/${uuid}`);
    expect(text).toContain("21 messages in the last 30 days");
  });
});

/** A broker with an API of its own. */
function aBroker(host = "one") {
  const asked = new Map<string, number>();
  const keys = new Map<string, string[]>();
  const keysOf = (uuid: string) => keys.get(uuid) ?? keys.set(uuid, ["key"]).get(uuid)!;
  const queues = new Set<string>();
  const wishes = new Map<string, unknown>();
  const wishOf = (uuid: string) => wishes.get(uuid);
  const state = { asksBeforeReady: 0, told: [] as string[], keysOf, queues, wishOf };

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
