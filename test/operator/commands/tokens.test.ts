import type { Report } from "../../../src/operator/work-through.ts";
import { aWorld, opened } from "../../support/world.ts";
import { kit, kitJson } from "../../support/kit.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

let uuids: string[];
/** The output of all commands in this file. */
const said: string[] = [];
// Without sweeps, so that only kit acts.
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(3);
});

const generations = () =>
  world.rows<{ uuid: string; generation: number; secretVersion: number }>(
    `SELECT uuid, generation, secret_version AS "secretVersion" FROM credentials ORDER BY uuid`,
  );

async function run<Data>(words: string[], input?: string) {
  const answer = await kitJson<Data>(world.environment, words, input);
  said.push(JSON.stringify(answer.data));
  return answer;
}

describe("kit tokens refresh", () => {
  it("refreshes the named resources, and says why others were not", async () => {
    await world.rows(`UPDATE credentials SET state = 'grant_lost' WHERE uuid = $1`, [uuids[1]]);
    const { code, data } = await run<Report>(["tokens", "refresh", uuids[0]!, uuids[1]!, UNKNOWN]);
    expect(code).toBe(1);
    expect(data).toEqual({
      done: [uuids[0]],
      failed: [{ uuid: UNKNOWN, id: "not_found", message: expect.any(String) }],
      skipped: [{ uuid: uuids[1], reason: "grant_lost" }],
    });
    expect((await generations()).map(({ generation }) => generation)).toEqual([2, 1, 1]);
  });

  it("refreshes all working tokens with --all", async () => {
    const { code, data } = await run<Report>(["tokens", "refresh", "--all"]);
    expect({ code, ...data, done: data.done.sort() }).toEqual({
      ...{ code: 0, done: [uuids[0], uuids[2]], failed: [] },
      skipped: [{ uuid: uuids[1], reason: "grant_lost" }],
    });
    await world.rows(`UPDATE credentials SET state = 'active' WHERE uuid = $1`, [uuids[1]]);
  });

  it("waits for a token that another process is refreshing, and fails if that takes too long", async () => {
    const hold = (time: string) =>
      world.rows(`UPDATE credentials SET leased_until = now() + $2::interval WHERE uuid = $1`, [
        uuids[0],
        time,
      ]);
    await hold("1 second");
    expect((await run<Report>(["tokens", "refresh", uuids[0]!])).data.done).toEqual([uuids[0]]);
    await hold("1 minute");
    const { code, data } = await run<Report>(["tokens", "refresh", uuids[0]!]);
    expect({ code, ...data }).toMatchObject({ code: 1, done: [], skipped: [], failed: [{ id: "busy" }] });
    await hold("-1 second");
  });

  it("skips a working token that has no refresh token", async () => {
    const refreshToken = `SELECT sealed_refresh_token AS sealed FROM credentials WHERE uuid = $1`;
    const [before] = await world.rows<{ sealed: Buffer }>(refreshToken, [uuids[0]]);
    const put = (sealed: Buffer | null) =>
      world.rows(`UPDATE credentials SET sealed_refresh_token = $2 WHERE uuid = $1`, [uuids[0], sealed]);
    await put(null);
    const { data } = await run<Report>(["tokens", "refresh", uuids[0]!]);
    expect(data.skipped).toEqual([{ uuid: uuids[0], reason: "no_refresh_token" }]);
    await put(before!.sealed);
  });
});

describe("the advice of kit", () => {
  const saidOf = async (words: string[]) => {
    const { stdout, stderr } = await kit(world.environment, words);
    said.push(stdout, stderr);
    return (stdout + stderr).replace(/\s+/g, " ");
  };

  it("depends on the platform's answer", async () => {
    const { control } = world.sandbox;
    control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    expect(await saidOf(["tokens", "refresh", uuids[0]!])).toContain("invalid_grant");
    await saidOf(["tokens", "refresh", uuids[0]!]);
  });

  it.each([
    ["integrity", "kit tokens refresh UUID may bring fresh tokens"],
    ["key_missing", "kit doctor says which key is missing"],
  ])("depends on why a credential is quarantined: %s", async (reason, advice) => {
    await world.rows(`UPDATE credentials SET state = 'quarantined', reason = $2 WHERE uuid = $1`, [
      uuids[1],
      reason,
    ]);
    expect(await saidOf(["apps", uuids[1]!])).toContain(advice);
    // A report on many resources has no reason, so the advice covers both.
    const all = await saidOf(["tokens", "refresh", "--all"]);
    expect(all).toContain("kit resources show UUID says why");
    await saidOf(["tokens", "refresh", uuids[1]!]);
  });
});

describe("kit secret set", () => {
  const versions = async () =>
    (await world.rows<{ version: number }>(`SELECT version FROM client_secrets ORDER BY version`)).length;

  it("sets a secret that was reset: every token is fresh when it ends; repeated, it changes nothing", async () => {
    const { secret } = world.sandbox.control.resetClientSecret();
    const { code, data } = await run(["secret", "set"], `${secret}\n`);
    expect({ code, data }).toEqual({ code: 0, data: { version: 2, due: 3, fresh: 3 } });
    expect((await generations()).every(({ secretVersion }) => secretVersion === 2)).toBe(true);
    for (const uuid of uuids)
      expect(await world.service.services.platformFor(uuid).addons.own()).toMatchObject({ id: uuid });
    expect(said.join("")).not.toContain(secret);
    expect((await run(["secret", "set"], secret)).data).toEqual({ version: 2, due: 0, fresh: 0 });
  });

  it("repeated after a kill, makes tokens due that the first run did not, without a running service", async () => {
    await world.rows(
      `UPDATE client_secrets SET spread_at = NULL WHERE version = (SELECT max(version) FROM client_secrets)`,
    );
    await world.rows(`UPDATE credentials SET secret_version = 1, due_at = now() + interval '4 hours'`);
    const { code, data } = await run(["secret", "set"], world.sandbox.settings.clientSecret);
    expect({ code, data }).toEqual({ code: 0, data: { version: 2, due: 3, fresh: 3 } });
  });

  it.each([
    ["rejects the secret", null, "still in use"],
    ["is unreachable", { status: 503 }, "answered 503"],
    ["has no token endpoint", { status: 404, body: { id: "not_found" } }, "answered 404"],
    ["is behind a firewall", { status: 403, body: "<h1>Forbidden</h1>" }, "answered 403"],
  ])("changes nothing when the platform %s", async (_, answer, told) => {
    const id = answer ? "client_secret_untried" : "client_secret_rejected";
    const before = await generations();
    if (answer) world.sandbox.control.fault("POST /oauth/token", answer);
    const { code, data } = await run<{ message: string }>(["secret", "set"], "not-the-right-secret");
    expect({ code, data }).toEqual({ code: 1, data: { id, message: expect.stringContaining(told) } });
    expect(data.message).toContain("Nothing was changed");
    expect(await versions()).toBe(2);
    expect((await run<Report>(["tokens", "refresh", "--all"])).data.done).toHaveLength(3);
    expect((await generations()).map(({ generation }) => generation)).toEqual(
      before.map(({ generation }) => generation + 1),
    );
  });

  it("sets the secret when the platform cannot be asked and the current one is rejected", async () => {
    world.sandbox.control.fault("POST /oauth/token", { status: 503 });
    const { clientSecret } = world.sandbox.settings;
    await world.rows(`UPDATE client_secrets SET rejected_at = now(), probe_at = now() WHERE version = 2`);
    const { code, data } = await run(["secret", "set"], clientSecret);
    expect({ code, data }).toEqual({ code: 0, data: { version: 3, due: 3, fresh: 3 } });
  });

  it("reports a secret that is in use and rejected; --no-wait returns at once", async () => {
    const wrong = await kit(world.environment, ["secret", "set", "--no-check"], "not-the-right-secret");
    said.push(wrong.stdout, wrong.stderr);
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr.replace(/\s+/g, " ")).toContain("It is in use now, as version 4");
    const all = await run<Report>(["tokens", "refresh", "--all"]);
    expect(all.data.failed.map(({ id }) => id)).toEqual(Array(3).fill("client_secret_rejected"));
    // What is no complaint about the client shows that the secret is right.
    world.sandbox.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_request" } });
    const right = await run(["secret", "set", "--no-wait"], world.sandbox.settings.clientSecret);
    expect(right).toEqual({ code: 0, data: { version: 5, due: 3, fresh: 0 } });
    const human = await kit(world.environment, ["secret", "set"], world.sandbox.settings.clientSecret);
    expect(human.stdout).toBe("The client secret is version 5 now. 3 of 3 tokens refreshed.\n");
  });

  it("does not count tokens that cannot be refreshed", async () => {
    await world.rows(
      `UPDATE credentials SET sealed_refresh_token = NULL, due_at = NULL, secret_version = 1 WHERE uuid = $1`,
      [uuids[0]],
    );
    const { secret } = world.sandbox.control.resetClientSecret();
    expect((await run(["secret", "set"], secret)).data).toMatchObject({ due: 2, fresh: 2 });
    expect((await run(["secret", "set"], secret)).data).toMatchObject({ due: 0, fresh: 0 });
  });
});

it("the output of kit tokens and kit secret contains no token and no secret", () => {
  const { ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY } = world.environment;
  for (const secret of [ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY, "SVCK-", "not-the-right-secret"]) {
    expect(said.join("\n")).not.toContain(secret);
  }
});
