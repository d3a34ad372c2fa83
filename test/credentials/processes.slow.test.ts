import { setTimeout as sleep } from "node:timers/promises";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { basic } from "../support/partner-calls.ts";
import { aProcessWorld } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// Real processes that are killed, stopped or frozen, and several on one database.

const life = opened(() => aProcessWorld());
afterEach(async () => {
  life.control.clearFaults();
  await life.killAll();
});

it("a killed process loses no grant: the next process exchanges it", async () => {
  const web = await life.start();
  const since = life.position();
  // However long the installs take, no grant is exchanged before the end.
  life.control.fault("POST /oauth/token", { status: 503 }, 1_000);
  const uuids = await life.install(20);
  web.signal("SIGKILL");
  await web.ended;
  expect(life.issuedSince(since)).toBe(0);
  life.control.clearFaults();
  await life.start();
  await life.become(uuids, 1);
  expect(life.issuedSince(since)).toBe(20);
});

it("a process that receives SIGTERM completes the exchange that it has sent, stores the tokens, and exits with 0", async () => {
  const web = await life.start();
  life.control.fault("POST /oauth/token", { delayMs: 4_000 });
  const uuids = await life.install(1);
  // The call has come.
  await eventually(() => life.control.faults().length === 0);
  web.signal("SIGTERM");
  expect(await web.ended).toBe(0);
  await life.become(uuids, 1);
});

describe("several processes on one PostgreSQL", () => {
  it("share exchanges and refreshes, with one call for each token", async () => {
    await life.start("web", { WEB_JOBS: "off" });
    await Promise.all([life.start("worker"), life.start("worker"), life.start("web")]);
    const since = life.position();
    const uuids = await life.install(100);
    await life.become(uuids, 1);
    expect(life.issuedSince(since)).toBe(100);

    const beforeRefresh = life.position();
    await life.makeDue(uuids);
    await life.become(uuids, 2);
    expect(life.issuedSince(beforeRefresh)).toBe(100);
    const valid = uuids.map(
      (uuid) => life.control.addon(uuid).tokens.filter(({ state }) => state === "valid").length,
    );
    expect(new Set(valid)).toEqual(new Set([1]));
  });

  it("give equal answers to one provision that is delivered to two of them at once", async () => {
    const [one, two] = [await life.start(), await life.start()];
    const { addonId, addonPassword } = life.world.sandbox.settings;
    const body = JSON.stringify(aProvisionRequest({ oauth_grant: null }));
    const headers = { authorization: basic(addonId, addonPassword), "content-type": "application/json" };
    const send = async (url: string | null) => {
      const response = await fetch(`${url}/resources`, { method: "POST", headers, body });
      return `${response.status} ${await response.text()}`;
    };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => send(index % 2 ? one.url : two.url)),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^200 /);
  });
});

it("a worker process that is frozen during a refresh, and considered dead, leaves no dead token after it continues", async () => {
  await life.start("web", { WEB_JOBS: "off" });
  const sweeping = { SWEEP_CRON: "* * * * * *" };
  const frozen = await life.start("worker", sweeping);
  const uuids = await life.install(10);
  await life.become(uuids, 1);
  life.control.fault("POST /oauth/token", { delayMs: 1_500 }, 10);
  const since = life.position();
  await life.makeDue(uuids);
  await eventually(() => life.control.faults().length === 0);
  frozen.signal("SIGSTOP");
  await eventually(() => life.issuedSince(since) === 10);
  await life.world.forged.tokenLeaseIsOver();
  await life.start("worker", sweeping);
  await life.become(uuids, 2);
  frozen.signal("SIGCONT");
  await sleep(4_000);
  const alive = `SELECT 1 FROM credentials WHERE uuid = ANY($1::uuid[]) AND state = 'active'`;
  await eventually(async () => expect(await life.world.rows(alive, [uuids])).toHaveLength(10));
  expect(life.issuedSince(since)).toBeLessThanOrEqual(30);
  // Each works: at once, or after one refresh that the first 401 brings about.
  await life.world.restart();
  const before = life.position();
  await life.expectAlive(uuids);
  expect(life.issuedSince(before)).toBeLessThanOrEqual(uuids.length);
  await life.world.service.stop();
});
