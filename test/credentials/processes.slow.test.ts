import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { aServiceProcess, type ServiceProcess } from "../support/process.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// Real processes that are killed, and several on one database.

let world: World;
const running: ServiceProcess[] = [];
beforeAll(async () => {
  world = await aWorld();
  // The world's own service stops, so that processes that can be killed take its place.
  await world.service.stop();
});
afterEach(async () => {
  for (const each of running.splice(0)) {
    each.signal("SIGKILL");
    await each.ended;
  }
});
afterAll(() => world.close());

async function start(
  kind: "web" | "worker",
  environment: Record<string, string> = {},
): Promise<ServiceProcess> {
  const started = await aServiceProcess(kind, { ...world.environment, LOG_LEVEL: "info", ...environment });
  running.push(started);
  if (started.url) world.sandbox.control.partner({ partnerUrl: started.url });
  return started;
}

async function states(uuids: string[]) {
  return world.rows<{ state: string; count: number }>(
    `SELECT state, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY state`,
    [uuids],
  );
}

const allActive = (uuids: string[], withinMs = 60_000) =>
  eventually(
    async () => expect(await states(uuids)).toEqual([{ state: "active", count: uuids.length }]),
    withinMs,
  );

const install = async (count: number) =>
  Promise.all(
    Array.from(
      { length: count },
      async () => (await world.sandbox.control.install({ plan: "basic" })).addon.id,
    ),
  );

function tokenCalls(since: number, grantType: string) {
  return world.sandbox.control
    .ledger({ since, reveal: true })
    .entries.filter(
      ({ path, request }) => path === "/oauth/token" && JSON.stringify(request.body).includes(grantType),
    );
}

describe("a killed process", () => {
  it("loses no grant: the next process exchanges it", async () => {
    const web = await start("web");
    const since = world.sandbox.control.ledger().next;
    const uuids = await install(20);
    web.signal("SIGKILL");
    await web.ended;
    expect(tokenCalls(since, "authorization_code")).toHaveLength(0);
    await start("web");
    await allActive(uuids);
    expect(tokenCalls(since, "authorization_code")).toHaveLength(20);
  }, 90_000);

  it("in the middle of a refresh leaves a token that the next process replaces", async () => {
    const web = await start("web");
    const [uuid] = await install(1);
    await allActive([uuid!]);
    world.sandbox.control.fault("POST /oauth/token", { hang: true });
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [uuid]);
    await eventually(() => world.sandbox.control.faults().length === 0);
    web.signal("SIGKILL");
    await web.ended;
    // Its lease ends.
    await world.rows(`UPDATE credentials SET leased_until = now() WHERE uuid = $1`, [uuid]);
    await start("web");
    await eventually(async () => {
      const [row] = await world.rows(`SELECT state, generation FROM credentials WHERE uuid = $1`, [uuid]);
      expect(row).toEqual({ state: "active", generation: 2 });
    });
  }, 90_000);
});

describe("a process that receives SIGTERM", () => {
  it("completes the exchange that it has sent, stores the tokens, and exits with 0", async () => {
    const web = await start("web");
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 4_000 });
    const [uuid] = await install(1);
    await eventually(async () => {
      const [row] = await world.rows<{ sent: boolean }>(
        `SELECT sent_at IS NOT NULL AS sent FROM credentials WHERE uuid = $1`,
        [uuid],
      );
      expect(row!.sent).toBe(true);
    });
    web.signal("SIGTERM");
    expect(await web.ended).toBe(0);
    await start("web");
    expect(await states([uuid!])).toEqual([{ state: "active", count: 1 }]);
  }, 60_000);
});

describe("a process that receives SIGTERM while a request is arriving", () => {
  it("answers it without waiting for the client to close the connection", async () => {
    const web = await start("web");
    const { addonId, addonPassword } = world.sandbox.settings;
    const body = JSON.stringify({ uuid: crypto.randomUUID(), plan: "basic", region: "us" });
    const socket = connect(Number(new URL(web.url!).port), "localhost");
    let answer = "";
    socket.on("data", (data: Buffer) => (answer += data.toString()));
    socket.write(
      `POST /resources HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
        `Authorization: Basic ${Buffer.from(`${addonId}:${addonPassword}`).toString("base64")}\r\n\r\n${body.slice(0, 10)}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    web.signal("SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 300));
    socket.write(body.slice(10));
    await eventually(() => expect(answer).toMatch(/^HTTP\/1.1 200 [^]*\r\nConnection: close\r\n/));
    expect(await web.ended).toBe(0);
    socket.destroy();
  });
});

describe("several processes on one PostgreSQL", () => {
  it("share exchanges and refreshes, with one call for each token", async () => {
    await start("web", { WEB_JOBS: "off" });
    await Promise.all([start("worker"), start("worker"), start("web")]);
    const since = world.sandbox.control.ledger().next;
    const uuids = await install(100);
    await allActive(uuids);
    expect(tokenCalls(since, "authorization_code")).toHaveLength(100);

    const beforeRefresh = world.sandbox.control.ledger().next;
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]);
    await eventually(async () => {
      const [row] = await world.rows(
        `SELECT min(generation) AS least, max(generation) AS most FROM credentials WHERE uuid = ANY($1::uuid[])`,
        [uuids],
      );
      expect(row).toEqual({ least: 2, most: 2 });
    }, 40_000);
    expect(tokenCalls(beforeRefresh, '"refresh_token"')).toHaveLength(100);
    const valid = uuids.map(
      (uuid) => world.sandbox.control.addon(uuid).tokens.filter(({ state }) => state === "valid").length,
    );
    expect(new Set(valid)).toEqual(new Set([1]));
  }, 120_000);

  it("lose nothing while they are killed at random", async () => {
    // A kill between an issue and its commit loses the tokens, unless the platform issues them again.
    world.sandbox.control.settings({ replayTokens: true });
    let web = await start("web");
    await start("worker");
    const uuids: string[] = [];
    for (let round = 0; round < 4; round++) {
      uuids.push(...(await install(15)));
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_500));
      const victims = running.splice(0);
      for (const each of victims) each.signal("SIGKILL");
      await Promise.all(victims.map(({ ended }) => ended));
      web = await start("web");
      await start("worker");
    }
    expect(web.url).not.toBeNull();
    // A lease of a process that was killed during its call ends.
    await world.rows(`UPDATE credentials SET leased_until = now() WHERE leased_until > now()`);
    await allActive(uuids, 90_000);
    world.sandbox.control.settings({ replayTokens: false });
  }, 180_000);

  it("give equal answers to one provision that is delivered to two of them at once", async () => {
    const [one, two] = [await start("web"), await start("web")];
    const { addonId, addonPassword } = world.sandbox.settings;
    const body = JSON.stringify({
      uuid: crypto.randomUUID(),
      plan: "basic",
      region: "us",
      oauth_grant: null,
    });
    const authorization = `Basic ${Buffer.from(`${addonId}:${addonPassword}`).toString("base64")}`;
    const send = async (url: string | null) => {
      const headers = { authorization, "content-type": "application/json" };
      const response = await fetch(`${url}/resources`, { method: "POST", headers, body });
      return `${response.status} ${await response.text()}`;
    };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => send(index % 2 ? one.url : two.url)),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^200 /);
  }, 60_000);
});
