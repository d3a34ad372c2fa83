import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { aWorld, eventually, type World } from "../support/world.ts";
import { startKit } from "./kit.ts";

let world: World;
beforeAll(async () => {
  world = await aWorld({ environment: { WEB_JOBS: "off" } });
});
afterAll(() => world.close());

const generation = async (uuid: string) =>
  (await world.rows<{ generation: number }>(`SELECT generation FROM credentials WHERE uuid = $1`, [uuid]))[0]!
    .generation;

it("A command that is stopped by Ctrl-C while a token is on its way stores it first", async () => {
  const { addon } = await world.sandbox.control.install({ plan: "basic" });
  await world.quiet([addon.id]);
  // From now on each refresh brings a refresh token in place of the one before.
  world.sandbox.control.settings({ refreshToken: "new" });
  await world.rows(`UPDATE credentials SET expires_at = now()`);
  world.sandbox.control.fault("POST /oauth/token", { delayMs: 2_000 }, 1);

  const child = startKit(world.environment, ["config", "get", addon.id]);
  const [said, ended] = [text(child.stderr!), once(child, "close")];
  await eventually(async () =>
    expect(await world.rows(`SELECT uuid FROM credentials WHERE sent_at IS NOT NULL`)).toHaveLength(1),
  );
  child.kill("SIGINT");
  expect(await ended).toEqual([null, "SIGINT"]);
  expect(await generation(addon.id)).toBe(2);
  expect(await said).toContain("is stored first");
  expect(await world.service.services.platformFor(addon.id).addons.own()).toMatchObject({ id: addon.id });
}, 30_000);
