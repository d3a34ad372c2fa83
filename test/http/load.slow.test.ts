import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { basic } from "../support/partner-calls.ts";
import { aProcessWorld } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// `npm run bench` measures the speed; this must hold on any machine.

const life = opened(() => aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
afterEach(() => life.killAll());

it("300 provisions on two web processes, one each 10 ms: each is answered 200 and exchanged once", async () => {
  const webs = await Promise.all([life.start("web"), life.start("web")]);
  const since = life.position();
  const installs = [];
  for (let count = 0; count < 300; count++) {
    life.control.partner({ partnerUrl: webs[count % 2]!.url! });
    installs.push(life.control.install({ plan: "basic" }));
    await sleep(10);
  }
  const deliveries = await Promise.all(installs);
  expect(deliveries.filter(({ response }) => response.status !== 200)).toEqual([]);
  const uuids = deliveries.map(({ addon }) => addon.id);
  await life.become(uuids, 1);
  expect(life.issuedSince(since)).toBe(300);
});

it("sweeps over ten thousand resources read only the due rows", async () => {
  await life.start("web", { WEB_JOBS: "off" });
  const uuids = await life.install(20);
  await life.become(uuids, 1);
  const [model] = uuids;
  await life.world.rows(
    `INSERT INTO resources (uuid, plan, applied_plan, state) SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned' FROM generate_series(1, 10000)`,
  );
  await life.world.rows(
    `INSERT INTO credentials (uuid, state, generation, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at, secret_version)
     SELECT r.uuid, m.state, 1, m.sealed_access_token, m.sealed_refresh_token, m.issued_at, m.expires_at,
       now() + random() * interval '3 hours' + interval '1 hour', m.secret_version
     FROM resources r, credentials m WHERE m.uuid = $1 AND NOT EXISTS (SELECT 1 FROM credentials c WHERE c.uuid = r.uuid)`,
    [model],
  );
  await life.world.rows(`ANALYZE`);
  // The pass over all resources that follows a new client secret is complete.
  await life.world.rows(`UPDATE client_secrets SET spread_at = created_at + interval '1 minute'`);
  const since = life.position();
  await life.makeDue(uuids);
  const read = await rowsScanned();
  await life.start("worker");
  await life.become(uuids, 2);
  // A few sweeps that find nothing.
  const beats = await heartbeats();
  await eventually(async () => expect(await heartbeats()).toBeGreaterThan(beats + 3));
  expect(life.issuedSince(since)).toBe(20);
  // A sweep over the whole table would have read ten thousand rows.
  expect((await rowsScanned()) - read).toBeLessThan(10_000);
});

/** Rows that were read one after the other, for want of an index. A session tells of them a second later, or at its end. */
async function rowsScanned(): Promise<number> {
  await sleep(1_500);
  const [row] = await life.world.rows<{ count: number }>(
    `SELECT sum(seq_tup_read)::int AS count FROM pg_stat_user_tables WHERE relname IN ('credentials', 'resources')`,
  );
  return row!.count;
}

/** The time in seconds of the refresh sweep's last heartbeat. */
async function heartbeats(): Promise<number> {
  const [row] = await life.world.rows<{ at: number }>(
    `SELECT extract(epoch FROM at)::float8 AS at FROM heartbeats WHERE name = 'refresh-tokens'`,
  );
  return row!.at;
}

function socketTo(url: string): Socket {
  const socket = connect(Number(new URL(url).port), "localhost");
  return socket.on("error", () => undefined);
}

/** Sends the head, then a byte at intervals; returns after how many seconds the service closed, and its answer. */
async function drip(url: string, beginning: string): Promise<{ seconds: number; said: string }> {
  const begun = performance.now();
  const socket = socketTo(url);
  let said = "";
  // A byte that comes after the service has closed resets the connection, before its answer may have been read.
  socket.on("data", (data: Buffer) => {
    said += data.toString();
    clearInterval(drops);
  });
  socket.write(beginning);
  const drops = setInterval(() => socket.write("x"), 500);
  await new Promise((resolve) => socket.once("close", resolve));
  clearInterval(drops);
  return { seconds: (performance.now() - begun) / 1000, said };
}

it("clients that send a byte at a time are cut off, and hundreds of idle ones delay no provision", async () => {
  const { addonId, addonPassword } = life.world.sandbox.settings;
  const url = (await life.start("web")).url!;
  const head = "POST /resources HTTP/1.1\r\nHost: x\r\n";
  const login = `Authorization: ${basic(addonId, addonPassword)}\r\nContent-Type: application/json\r\n`;
  const dripping = Promise.all([
    drip(url, `${head}X-Slow: `),
    drip(url, `${head}${login}Content-Length: 1000\r\n\r\n{"uuid":"`),
  ]);
  const idle = Array.from({ length: 500 }, () => socketTo(url));
  for (let call = 0; call < 20; call++) {
    const { response } = await life.control.install({ plan: "basic" });
    expect(response.status).toBe(200);
    expect(response.ms).toBeLessThan(10_000);
  }
  for (const { seconds, said } of await dripping) {
    expect(said).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(seconds).toBeLessThan(40);
  }
  for (const socket of idle) socket.destroy();
});
