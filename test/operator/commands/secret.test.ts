import type { Database } from "../../../src/database/database.ts";
import type { Report } from "../../../src/operator/work-through.ts";
import type { Pace } from "../../../src/pace.ts";
import { Secret } from "../../../src/secret.ts";
import { clientSecretSealContext, createVault } from "../../../src/vault/vault.ts";
import { ALL } from "../../support/forged.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { aWorld, opened } from "../../support/world.ts";

let uuids: string[];
// Without sweeps, so that only kit acts.
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(3);
});

const set = (secret: string, ...options: string[]) =>
  kitJson(world.environment, ["secret", "set", ...options], secret);
const current = () => world.sandbox.settings.clientSecret;
const refreshed = async () => (await kitJson<Report>(world.environment, ["tokens", "refresh", "--all"])).data;
const versions = () =>
  world.rows<{ version: number; sealed: Buffer }>(
    `SELECT version, sealed_secret AS sealed FROM client_secrets ORDER BY version`,
  );

describe("kit secret set", () => {
  it("sets a secret that was reset: every token is fresh when it ends; repeated, it changes nothing", async () => {
    const { secret } = world.sandbox.control.resetClientSecret();
    expect(await set(`${secret}\n`)).toEqual({ code: 0, data: { version: 2, due: 3, fresh: 3 } });
    for (const uuid of uuids)
      expect(await world.service.services.platformFor(uuid).addons.own()).toMatchObject({ id: uuid });
    expect((await set(secret)).data).toEqual({ version: 2, due: 0, fresh: 0 });
  });

  it("repeated after a kill, makes tokens due that the first run did not, without a running service", async () => {
    await world.forged.secretIsNotSpread();
    await world.forged.tokensAreOfSecret(1);
    await world.forged.tokensAreDueIn(ALL, 4 * 3_600);
    expect(await set(current())).toEqual({ code: 0, data: { version: 2, due: 3, fresh: 3 } });
  });

  it.each([
    ["rejects the secret", null, "still in use"],
    ["cannot be asked", { status: 503 }, "answered 503"],
  ])("changes nothing when the platform %s", async (_, answer, told) => {
    const before = await versions();
    if (answer) world.sandbox.control.fault("POST /oauth/token", answer);
    const id = answer ? "client_secret_untried" : "client_secret_rejected";
    const data = { id, message: expect.stringContaining(told) };
    expect(await set("not-the-right-secret")).toEqual({ code: 1, data });
    expect(await versions()).toEqual(before);
    expect((await refreshed()).done).toHaveLength(3);
  });

  it("sets one that the platform cannot be asked about if the current one is rejected, and says so", async () => {
    world.sandbox.control.fault("POST /oauth/token", { status: 503 });
    await world.forged.secretIsRejected();
    const unconfirmed = expect.stringContaining("answered 503");
    expect(await set(current())).toEqual({ code: 0, data: { version: 3, due: 3, fresh: 3, unconfirmed } });
  });

  it("reports a secret that is in use and rejected; --no-wait returns at once", async () => {
    world.sandbox.control.fault("POST /oauth/token", { status: 401 });
    const wrong = await kit(world.environment, ["secret", "set"], "not-the-right-secret");
    const inUse = expect.stringContaining("It is in use now, as version 4");
    expect(wrong).toEqual({ code: 1, stdout: "", stderr: inUse });
    expect(wrong.stderr).not.toContain("not-the-right-secret");
    expect((await refreshed()).failed.map(({ id }) => id)).toEqual(Array(3).fill("client_secret_rejected"));
    // What is no complaint about the client shows that the secret is right.
    world.sandbox.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_request" } });
    expect(await set(current(), "--no-wait")).toEqual({ code: 0, data: { version: 5, due: 3, fresh: 0 } });
    const human = await kit(world.environment, ["secret", "set"], current());
    expect(human.stdout).toBe("The client secret is version 5 now. 3 of 3 tokens refreshed.\n");
  });

  it("does not count tokens that cannot be refreshed", async () => {
    await world.forged.refreshTokenIsMissing(uuids[0]!);
    await world.forged.tokensAreOfSecret(1, uuids[0]);
    const { secret } = world.sandbox.control.resetClientSecret();
    expect((await set(secret)).data).toMatchObject({ due: 2, fresh: 2 });
  });

  it("waits for tokens that were refused with the secret before, and are due", async () => {
    await world.forged.secretIsNotSpread();
    await world.forged.tokensAreOfSecret(1, uuids.slice(1));
    await world.forged.tokensAreRefusedSince(uuids.slice(1), 3_600);
    expect((await set(current())).data).toMatchObject({ due: 2, fresh: 2 });
  });

  it("waits on when the database is away for a moment", async () => {
    let isAway = true;
    const wrapDatabase = (db: Database): Database => ({
      ...db,
      async readWhole(statement, ...values) {
        if (isAway && statement.name === "count_stale_tokens") {
          isAway = false;
          throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
        }
        return db.readWhole(statement, ...values);
      },
    });
    const { secret } = world.sandbox.control.resetClientSecret();
    const said = await kit(world.environment, ["secret", "set"], secret, { wrapDatabase });
    expect([said, isAway]).toMatchObject([{ code: 0, stdout: expect.stringContaining("2 of 2") }, false]);
  });

  /** Where the platform answers 401 without a reason; `pace`: of the command. */
  async function setWhere(plain401: "never" | "tokens" | "always", secret: string, pace: Partial<Pace>) {
    world.sandbox.control.settings({ plain401 });
    const { code, stdout } = await kit(world.environment, ["secret", "set", "--json"], secret, { pace });
    world.sandbox.control.settings({ plain401: "never" });
    return [code, JSON.parse(stdout)];
  }

  it.each(["never", "tokens"] as const)(
    "does not wait for tokens that the platform refuses, with a 401 without a reason %s",
    async (plain401) => {
      const dead = await world.installed(2);
      for (const uuid of dead) world.sandbox.control.revoke(uuid, "refresh");
      const { secret } = world.sandbox.control.resetClientSecret();
      const done = [0, expect.objectContaining({ due: 4, fresh: 2 })];
      expect(await setWhere(plain401, secret, { pauses: 0.001, presumedMs: 5_000 })).toEqual(done);
      for (const uuid of dead) await world.sandbox.control.deprovision(uuid);
    },
  );

  it("says that a secret is presumed wrong where each 401 is without a reason, and nothing succeeds", async () => {
    const message = expect.stringContaining("presumed wrong. It is in use now");
    const failure = [1, { id: "client_secret_rejected", message }];
    expect(await setWhere("always", "not-the-right-secret", { presumedMs: 500 })).toEqual(failure);
    expect((await set(current())).data).toMatchObject({ fresh: 2 });
  });
});

// One of the three resources has no refresh token any more.
describe("kit secret set repairs a service that cannot start, for its client secrets", () => {
  /** Changes one byte of each: of the format, or of what is sealed. */
  const damage = (at: number) => world.forged.secretsBitIsFlipped(at);

  async function loseTheKey(): Promise<void> {
    const stranger = await createVault({ encryptionKey: new Secret("a-key-that-nobody-has-any-more-".repeat(2)) }); // prettier-ignore
    await world.forged.keyWasUsed(stranger.keyId);
    for (const { version } of await versions())
      await world.forged.secretIs({
        version,
        sealed: stranger.seal(clientSecretSealContext(version), "lost"),
        hash: stranger.hash(new Secret("lost")),
      });
  }

  it.each<[string, () => Promise<unknown>]>([
    ["are damaged", () => damage(50)],
    ["are damaged in their format", () => damage(0)],
    ["were sealed with a key that is lost", loseTheKey],
  ])("%s, and leaves nothing that cannot be decrypted", async (_, lose) => {
    await lose();
    const { secret } = world.sandbox.control.resetClientSecret();
    expect(await set(`${secret}\n`)).toMatchObject({ code: 0, data: { due: 2, fresh: 2 } });
    // The old value in CLIENT_SECRET is known, so it is not set again.
    await world.restart();
    const { value } = await world.service.services.credentials.secrets.current();
    expect(value.reveal()).toBe(secret);
    expect(await kit(world.environment, ["keys", "reseal"])).toMatchObject({ code: 0 });
  });
});

it("kit secret set changes nothing when a key is missing, and asks for it", async () => {
  const before = await versions();
  const environment = { ...world.environment, ENCRYPTION_KEY: "a-key-that-sealed-nothing-".repeat(2) };
  const message = expect.stringContaining("DECRYPTION_KEYS");
  expect(await kitJson(environment, ["secret", "set"], current())).toMatchObject({ code: 78, data: { message } }); // prettier-ignore
  expect(await versions()).toEqual(before);
});
