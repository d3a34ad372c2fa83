import { createClientSecrets } from "../../src/credentials/client-secret.ts";
import type { ClaimedCredential } from "../../src/credentials/queue.ts";
import type { TokenAnswer, TokenEndpoint } from "../../src/platform/oauth.ts";
import { runWorker } from "../../src/process/run-worker.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { Secret } from "../../src/secret.ts";
import { aGate } from "../support/a-vendor.ts";
import { interleavings } from "../support/interleavings.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually, opened } from "../support/world.ts";

// The client secret is reset during refreshes, differs between processes, and contains unusual characters.

const NEWEST = `version = (SELECT max(version) FROM client_secrets)`;
const others: RunningService[] = [];
/** So many refreshes are sent; the others wait at the gate. */
let passes = Infinity;
let gate = aGate();
const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
  ...endpoint,
  async refresh(...given) {
    if ((passes -= 1) < 0) await gate.opened;
    return endpoint.refresh(...given);
  },
});
const life = opened(() =>
  aLifecycle({ environment: { TOKEN_CONCURRENCY: "8" }, parts: { wrapTokenEndpoint } }),
);
afterEach(async () => {
  passes = Infinity;
  gate.open();
  life.control.clearFaults();
  for (const other of others.splice(0)) await other.stop();
});

const count = async (uuids: string[], where: string) =>
  (await life.world.rows(`SELECT 1 FROM credentials WHERE uuid = ANY($1::uuid[]) AND ${where}`, [uuids]))
    .length;

/** Each stored token works without a refresh. */
async function expectFresh(uuids: string[]) {
  const since = life.position();
  await life.expectAlive(uuids);
  expect(life.tokenCalls(since)).toEqual([]);
}

/** Sets this secret here; answers its version. */
async function setSecret(secret: string): Promise<number> {
  const { credentials, jobs } = life.world.service.services;
  const { version } = await credentials.secrets.set(new Secret(secret));
  for (const name of jobs.names) jobs.wake(name);
  return version;
}

const haveVersion = (uuids: string[], version: number) =>
  eventually(async () => expect(await count(uuids, `secret_version = ${version}`)).toBe(uuids.length));

/** The resources of the tests before are refreshed, too. */
const allAreRefreshed = () =>
  eventually(async () => {
    const older = `SELECT uuid FROM credentials WHERE state = 'active' AND secret_version < (SELECT max(version) FROM client_secrets)`;
    expect(await life.world.rows(older)).toEqual([]);
  });

describe("reset of the client secret", () => {
  it("in the middle of a sweep changes no row and stops the calls; with the new secret all tokens are refreshed", async () => {
    const uuids = await life.world.installed(80);
    passes = 30;
    await life.makeDue(uuids);
    await eventually(async () => (await count(uuids, `generation = 2`)) === 30 && passes === -8);
    const since = life.position();
    const { secret } = life.control.resetClientSecret();
    passes = Infinity;
    gate.open();
    await eventually(() => expect(life.world.logged()).toMatch(/"alarm":"client_secret_rejected"/));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await count(uuids, `state = 'active' AND rejected_at IS NULL AND attempts = 0`)).toBe(80);
    // Only the calls that were under way.
    expect(life.tokenCalls(since)).toHaveLength(8);
    await haveVersion(uuids, await setSecret(secret));
    await expectFresh(uuids);
  });

  it("sends no queued call with the rejected secret", async () => {
    const uuids = await life.world.installed(32);
    const since = life.position();
    [passes, gate] = [0, aGate()];
    await life.makeDue(uuids);
    await eventually(async () => (await count(uuids, `leased_until IS NOT NULL`)) === 16);
    const { secret } = life.control.resetClientSecret();
    passes = Infinity;
    gate.open();
    await eventually(async () => (await count(uuids, `leased_until IS NOT NULL`)) === 0);
    expect(life.tokenCalls(since).map(({ response }) => response?.status)).toEqual(Array(8).fill(401));
    await haveVersion(uuids, await setSecret(secret));
  });

  it("lifts a wrong rejection when the token endpoint refuses a refresh token sent with that secret", async () => {
    const uuid = await life.settled();
    life.control.revoke(uuid, "refresh");
    await life.world.forged.secretIsRejected();
    await life.makeDue([uuid]);
    const lifted = `SELECT 1 FROM client_secrets WHERE ${NEWEST} AND rejected_at IS NULL`;
    await eventually(async () => expect(await life.world.rows(lifted)).toHaveLength(1));
    await life.becomes(uuid, { state: "active", isRefused: true });
    // The tests that follow look at every token.
    await life.control.deprovision(uuid);
  });

  it("does not revive credentials that the platform has ended, and raises no alarm about them", async () => {
    const uuid = await life.settled();
    await life.world.forged.refreshIsGivenUp(uuid);
    life.control.revoke(uuid, "refresh");
    const since = { log: life.world.logged().length, call: life.position() };
    const { secret } = life.control.resetClientSecret();
    await setSecret(secret);
    await eventually(() => life.tokenCalls(since.call).some(({ response }) => response?.status === 400));
    await life.becomes(uuid, { isLeased: false });
    expect(await count([uuid], `state = 'needs_reauth' AND due_at > now() + interval '20 hours'`)).toBe(1);
    expect(life.world.logged().slice(since.log)).not.toContain(`"alarm":"needs_reauth"`);
    await life.control.deprovision(uuid);
  });

  it("makes calls for a token fail, raises the alarm once in each process, and delays nobody once the new secret is set", async () => {
    const uuid = await life.settled();
    // One that is answered before the reset, and stored after the alarm, would say that the secret is accepted.
    await allAreRefreshed();
    const { secret } = life.control.resetClientSecret();
    const since = life.world.logged().length;
    // As if a command had met the rejection first, and told of it on its terminal.
    await life.world.forged.secretIsRejected();
    for (let asked = 0; asked < 5; asked += 1)
      await expect(life.own(uuid)).rejects.toMatchObject({ id: "client_secret_rejected" });
    expect(life.world.logged().slice(since).split(`"alarm":"client_secret_rejected"`)).toHaveLength(2);
    await setSecret(secret);
    await life.expectAlive([uuid]);
  });

  /** Secrets of another process, at whose moments something happens. */
  const ofAnother = () => {
    const { moments, parts } = interleavings();
    const { db, ...services } = life.world.service.services;
    return { moments, secrets: createClientSecrets({ ...services, db: parts.wrapDatabase(db) }) };
  };

  it("counts the tokens that it makes due, also those that a service refreshes at once", async () => {
    const uuids = await life.world.installed(3);
    await allAreRefreshed();
    const all = (await life.world.rows(`SELECT 1 FROM credentials WHERE state = 'active'`)).length;
    const { moments, secrets } = ofAnother();
    const { secret } = life.control.resetClientSecret();
    moments.set("after make_older_tokens_due", () =>
      eventually(async () => {
        const last = `secret_version = (SELECT max(version) FROM client_secrets)`;
        expect(await count(uuids, last)).toBe(3);
      }),
    );
    expect(await secrets.set(new Secret(secret))).toMatchObject({ due: all });
    expect(moments.size).toBe(0);
  });

  it("is read again if its process stored a rejection while it was read", async () => {
    const { moments, secrets } = ofAnother();
    const given = await life.world.service.services.credentials.secrets.current();
    const answer = { outcome: "client_rejected" } as TokenAnswer;
    moments.set("after read_client_secret", () => secrets.judge({} as ClaimedCredential, given, answer));
    expect(await secrets.current()).toMatchObject({ isRejected: false });
    expect(await secrets.current()).toMatchObject({ isRejected: true });
    await secrets.accepted(given);
    expect(await secrets.current()).toMatchObject({ isRejected: false });
  });

  it("reaches processes that have the old secret in their environment once a process starts with the new one", async () => {
    const uuids = await life.world.installed(20);
    const { secret } = life.control.resetClientSecret();
    const lines: string[] = [];
    const other = await runWorker(teapotConfig({ ...life.world.environment, CLIENT_SECRET: secret }), {
      ...teapotParts,
      logTo: { write: (line) => void lines.push(line) },
    });
    others.push(other);
    await other.ready;
    const [row] = await life.world.rows<{ version: number }>(
      `SELECT max(version) AS version FROM client_secrets`,
    );
    await haveVersion(uuids, row!.version);
    // Their calls would be counted.
    await allAreRefreshed();
    await expectFresh(uuids);
    const later = await life.world.installed(5);
    await haveVersion(later, row!.version);
    await other.stop();
    // A restart of the process with the old secret does not restore it.
    await life.world.restart();
    expect(await life.world.rows(`SELECT max(version) AS version FROM client_secrets`)).toEqual([row]);
    expect(lines.join("") + life.world.logged()).not.toContain(secret);
  });

  it("sends a secret unchanged, whatever its characters", async () => {
    const secret = `with a space, a +plus, a&b=c;d#e?f, ünïcode-🫖, "quoted" \\ 'and' <more>`;
    life.control.partner({ clientSecret: secret });
    const version = await setSecret(secret);
    await life.settled();
    const accepted = `SELECT 1 FROM client_secrets WHERE version = $1 AND rejected_at IS NULL`;
    expect(await life.world.rows(accepted, [version])).toHaveLength(1);
  });
});
