import { afterEach, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { runWorker } from "../../src/process/run-worker.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { Secret } from "../../src/secret.ts";
import { aWorld, eventually, opened } from "../support/world.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";

// The client secret is reset during refreshes, differs between processes, and contains unusual characters.

const others: RunningService[] = [];
const world = opened(() =>
  aWorld({
    environment: { SWEEP_CRON: "* * * * * *", TOKEN_CONCURRENCY: "8" },
  }),
);
afterEach(async () => {
  world.sandbox.control.clearFaults();
  for (const other of others.splice(0)) await other.stop();
});

const { stringify } = JSON;
const count = async (uuids: string[], where: string) =>
  (
    await world.rows<{ count: number }>(
      `SELECT count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) AND ${where}`,
      [uuids],
    )
  )[0]!.count;
const position = () => world.sandbox.control.ledger().next;
const tokenCalls = (since: number) =>
  world.sandbox.control.ledger({ since }).entries.filter(({ path }) => path === "/oauth/token");

async function active(many: number): Promise<string[]> {
  const installs = Array.from({ length: many }, () => world.sandbox.control.install({ plan: "basic" }));
  const uuids = (await Promise.all(installs)).map(({ addon }) => addon.id);
  await world.quiet(uuids);
  return uuids;
}

/** Each stored token works without a refresh. */
async function expectAlive(uuids: string[]): Promise<void> {
  const since = position();
  for (const uuid of uuids)
    expect((await world.service.services.platformFor(uuid).addons.own()).id).toBe(uuid);
  expect(tokenCalls(since)).toEqual([]);
}

describe("reset of the client secret", () => {
  it("in the middle of a sweep changes no row and stops the calls; with the new secret all tokens are refreshed", async () => {
    const uuids = await active(80);
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 100 }, 80);
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]);
    await eventually(async () => (await count(uuids, `generation = 2`)) >= 30);
    const since = position();
    const { secret } = world.sandbox.control.resetClientSecret();
    await eventually(() => expect(world.logged()).toMatch(/"alarm":"client_secret_rejected"/));
    const readiness = await fetch(`${world.service.url}/readyz`);
    expect({ status: readiness.status, body: await readiness.json() }).toEqual({
      status: 200,
      body: { status: "degraded" },
    });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await count(uuids, `state = 'active' AND rejected_at IS NULL AND attempts = 0`)).toBe(80);
    // Only the calls that were under way.
    expect(tokenCalls(since).length).toBeLessThanOrEqual(16);
    const { version } = await world.service.services.credentials.secrets.set(new Secret(secret));
    world.service.services.jobs.wakeAll();
    await eventually(async () => expect(await count(uuids, `secret_version = ${version}`)).toBe(80));
    await expectAlive(uuids);
  }, 60_000);

  it("sends no queued call with the rejected secret", async () => {
    const uuids = await active(32);
    const since = position();
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 2_000 }, 8);
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]);
    await eventually(async () => (await count(uuids, `leased_until IS NOT NULL`)) === 16);
    const { secret } = world.sandbox.control.resetClientSecret();
    await eventually(async () => (await count(uuids, `leased_until IS NOT NULL`)) === 0);
    expect(tokenCalls(since).map(({ response }) => response?.status)).toEqual(Array(8).fill(401));
    const { version } = await world.service.services.credentials.secrets.set(new Secret(secret));
    world.service.services.jobs.wakeAll();
    await eventually(async () => expect(await count(uuids, `secret_version = ${version}`)).toBe(32));
  }, 60_000);

  it("lifts a wrong rejection when the token endpoint refuses a refresh token sent with that secret", async () => {
    const [uuid] = (await active(1)) as [string];
    world.sandbox.control.revoke(uuid, "refresh");
    const newest = `version = (SELECT max(version) FROM client_secrets)`;
    const { secrets } = world.service.services.credentials;
    await secrets.rejected(await secrets.current(), { isPresumed: false });
    await world.rows(`UPDATE client_secrets SET probe_at = now() WHERE ${newest}`);
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [uuid]);
    await eventually(async () =>
      expect(await world.rows(`SELECT rejected_at FROM client_secrets WHERE ${newest}`)).toEqual([
        { rejected_at: null },
      ]),
    );
    await eventually(async () =>
      expect(await count([uuid], `state = 'active' AND rejected_at IS NOT NULL`)).toBe(1),
    );
    // The tests that follow look at every token.
    await world.sandbox.control.deprovision(uuid);
  }, 60_000);

  it("does not revive credentials that the platform has ended, and raises no alarm about them", async () => {
    const [uuid] = (await active(1)) as [string];
    await world.rows(
      `UPDATE credentials SET state = 'needs_reauth', reason = 'refresh_token_rejected', attempts = 3,
         rejected_at = now() - interval '1 day', due_at = now() + interval '20 hours' WHERE uuid = $1`,
      [uuid],
    );
    world.sandbox.control.revoke(uuid, "refresh");
    const since = { log: world.logged().length, call: position() };
    const { secret } = world.sandbox.control.resetClientSecret();
    await world.service.services.credentials.secrets.set(new Secret(secret));
    world.service.services.jobs.wakeAll();
    await eventually(() => tokenCalls(since.call).some(({ response }) => response?.status === 400));
    await eventually(async () => expect(await count([uuid], `leased_until IS NULL`)).toBe(1));
    expect(await count([uuid], `state = 'needs_reauth' AND due_at > now() + interval '20 hours'`)).toBe(1);
    expect(world.logged().slice(since.log)).not.toContain(`"alarm":"needs_reauth"`);
    await world.sandbox.control.deprovision(uuid);
  }, 60_000);

  it("makes calls for a token fail with client_secret_rejected, and delays nobody once the new secret is set", async () => {
    const [uuid] = (await active(1)) as [string];
    const { platformFor, credentials } = world.service.services;
    const { secret } = world.sandbox.control.resetClientSecret();
    for (let asked = 0; asked < 5; asked += 1)
      await expect(platformFor(uuid).addons.own()).rejects.toMatchObject({ id: "client_secret_rejected" });
    await credentials.secrets.set(new Secret(secret));
    expect((await platformFor(uuid).addons.own()).id).toBe(uuid);
  }, 60_000);

  it("makes all older tokens due, and a row that is locked as soon as it is free", async () => {
    const [held, ...others] = (await active(4)) as [string, string, string, string];
    const holder = new pg.Client({ connectionString: world.environment["DATABASE_URL"] });
    await holder.connect();
    await holder.query(`BEGIN`);
    await holder.query(`SELECT 1 FROM credentials WHERE uuid = $1 FOR UPDATE`, [held]);
    const { secret } = world.sandbox.control.resetClientSecret();
    const { version } = await world.service.services.credentials.secrets.set(new Secret(secret));
    world.service.services.jobs.wakeAll();
    await eventually(async () => expect(await count(others, `secret_version = ${version}`)).toBe(3));
    await holder.query(`ROLLBACK`);
    await holder.end();
    await eventually(async () => expect(await count([held], `secret_version = ${version}`)).toBe(1));
    for (const uuid of [held, ...others])
      expect((await world.service.services.platformFor(uuid).addons.own()).id).toBe(uuid);
  }, 60_000);

  it("reaches processes that have the old secret in their environment once a process starts with the new one", async () => {
    const uuids = await active(20);
    const { secret } = world.sandbox.control.resetClientSecret();
    const lines: string[] = [];
    const other = await runWorker(teapotConfig({ ...world.environment, CLIENT_SECRET: secret }), {
      ...teapotParts,
      logTo: { write: (line) => void lines.push(line) },
    });
    others.push(other);
    await other.ready;
    const [row] = await world.rows<{ version: number }>(`SELECT max(version) AS version FROM client_secrets`);
    await eventually(
      async () => expect(await count(uuids, `secret_version = ${row!.version}`)).toBe(20),
      25_000,
    );
    // The resources of the tests before are refreshed too, and their calls would be counted.
    const older = `SELECT uuid FROM credentials WHERE state = 'active' AND secret_version < ${row!.version}`;
    await eventually(async () => expect(await world.rows(older)).toEqual([]), 25_000);
    await expectAlive(uuids);
    const later = await active(5);
    expect(await count(later, `secret_version = ${row!.version}`)).toBe(5);
    await other.stop();
    // A restart of the process with the old secret does not restore it.
    await world.restart();
    expect(await world.rows(`SELECT max(version) AS version FROM client_secrets`)).toEqual([row]);
    expect(lines.join("") + world.logged()).not.toContain(secret);
  }, 60_000);

  it.each(["with a space and a +plus", "a&b=c;d#e?f", "geheim-ünïcode-🫖", `"quoted" \\ 'and' <more>`])(
    "sends the secret unchanged: %s",
    async (secret) => {
      world.sandbox.control.partner({ clientSecret: secret });
      await world.service.services.credentials.secrets.set(new Secret(secret));
      await active(1);
      expect(
        stringify(await world.rows(`SELECT rejected_at FROM client_secrets ORDER BY version DESC LIMIT 1`)),
      ).toBe(`[{"rejected_at":null}]`);
    },
  );
});
