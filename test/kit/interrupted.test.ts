import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { aWorld, eventually, type World } from "../support/world.ts";
import { startKit } from "./kit.ts";

let world: World;
beforeAll(async () => {
  world = await aWorld({ environment: { WEB_JOBS: "off" } });
});
afterEach(() => world.sandbox.control.clearFaults());
afterAll(() => world.close());

const generation = async (uuid: string) =>
  (await world.rows<{ generation: number }>(`SELECT generation FROM credentials WHERE uuid = $1`, [uuid]))[0]!
    .generation;

/** A command whose call to the token endpoint is under way, and takes this much longer. */
async function withATokenOnItsWay(wordsFor: (uuid: string) => string[], delayMs = 2_000) {
  const { addon } = await world.sandbox.control.install({ plan: "basic" });
  await world.quiet([addon.id]);
  // From now on each refresh brings a refresh token in place of the one before.
  world.sandbox.control.settings({ refreshToken: "new" });
  await world.rows(`UPDATE credentials SET expires_at = now() WHERE uuid = $1`, [addon.id]);
  world.sandbox.control.fault("POST /oauth/token", { delayMs }, 1);

  const child = startKit(world.environment, wordsFor(addon.id));
  const [said, ended] = [text(child.stderr!), once(child, "close")];
  await eventually(async () =>
    expect(
      await world.rows(`SELECT uuid FROM credentials WHERE sent_at IS NOT NULL AND uuid = $1`, [addon.id]),
    ).toHaveLength(1),
  );
  return { uuid: addon.id, child, said, ended };
}

// A terminal sends Ctrl-C to npm and to the command, and npm sends it on to the command.
it.each([
  ["Ctrl-C", 1],
  ["Ctrl-C, which npm sends on to it once more,", 2],
])(
  "a command stopped by %s stores a token that is being refreshed first",
  async (_, signals) => {
    const { uuid, child, said, ended } = await withATokenOnItsWay((id) => ["config", "get", id]);
    for (let sent = 0; sent < signals; sent++) {
      child.kill("SIGINT");
      await sleep(2);
    }
    expect(await ended).toEqual([null, "SIGINT"]);
    expect(await generation(uuid)).toBe(2);
    expect(await said).toContain("is stored first");
    expect(await world.service.services.platformFor(uuid).addons.own()).toMatchObject({ id: uuid });
  },
  30_000,
);

it("a command counts a Ctrl-C that npm forwards as one", async () => {
  const { uuid, child, ended, said } = await withATokenOnItsWay((id) => ["tokens", "refresh", id]);
  child.kill("SIGINT");
  await sleep(2);
  child.kill("SIGINT");
  // Nothing was left to do, and nothing failed.
  expect(await ended).toEqual([0, null]);
  expect(await said).toContain("Stopping: what was sent is finished first.");
  expect(await generation(uuid)).toBe(2);
}, 30_000);

it.each([
  ["config", "get", [null, "SIGINT"]],
  ["tokens", "refresh", [1, null]],
] as const)(
  "a second Ctrl-C stops a command at once: kit %s %s",
  async (noun, verb, how) => {
    const { uuid, child, ended } = await withATokenOnItsWay((id) => [noun, verb, id], 6_000);
    child.kill("SIGINT");
    await sleep(2_500);
    child.kill("SIGINT");
    expect(await ended).toEqual(how);
    expect(await generation(uuid)).toBe(1);
  },
  30_000,
);

// The effect of a dropped connection: the shell sends SIGHUP, and nobody reads the output.
it.each([
  ["config", "get", [null, "SIGHUP"]],
  ["tokens", "refresh", [0, null]],
] as const)(
  "a command whose terminal is closed stores a token that is being refreshed first: kit %s %s",
  async (noun, verb, how) => {
    const { uuid, child, said, ended } = await withATokenOnItsWay((id) => [noun, verb, id], 3_000);
    said.catch(() => undefined);
    child.stdout!.destroy();
    child.stderr!.destroy();
    child.kill("SIGHUP");
    await sleep(1_500);
    // The kernel and the shell both send SIGHUP, at different times: that is not a second request to stop.
    child.kill("SIGHUP");
    expect(await ended).toEqual(how);
    expect(await generation(uuid)).toBe(2);
  },
  30_000,
);

it("a command that is stopped ends in order although nobody reads its output", async () => {
  const { uuid, child, said, ended } = await withATokenOnItsWay((id) => ["tokens", "refresh", id]);
  said.catch(() => undefined);
  child.stderr!.destroy();
  child.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
  expect(await generation(uuid)).toBe(2);
}, 30_000);
