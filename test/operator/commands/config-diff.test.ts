import { addonManifest } from "../../../src/operator/commands/manifest.ts";
import { sealConfig, type ConfigVar } from "../../../src/resources/config-vars.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { opened } from "../../support/world.ts";
import { kit, kitJson } from "../../support/kit.ts";

let uuid: string;
let wanted: Record<string, string>;
const life = opened(() => aLifecycle());
beforeAll(async () => {
  uuid = await life.settled();
  wanted = await onPlatform();
});
beforeEach(() => change(...Object.entries(wanted).map(([name, value]) => ({ name, value }))));

/** Changes config vars at the platform by hand. */
const change = (...vars: ConfigVar[]) => life.world.service.services.platformFor(uuid).config.update(vars);

async function onPlatform(): Promise<Record<string, string>> {
  const config = await life.world.service.services.platformFor(uuid).config.get();
  return Object.fromEntries(config.map(({ name, value }) => [name, value!]));
}

const run = <Data>(...words: string[]) => kitJson<Data>(life.world.environment, words);
const say = (...words: string[]) => kit(life.world.environment, words);

interface Told {
  name: string;
  state: string;
  value: string | null;
  platform: string | null;
}

it("config diff shows equal, different and missing vars, their values only if asked, and the command that helps", async () => {
  expect(await run("config", "diff", uuid)).toMatchObject({
    code: 0,
    data: [
      { name: "TEAPOT_TOKEN", state: "same", value: "[secret]" },
      { name: "TEAPOT_URL", state: "same", platform: "[secret]" },
    ],
  });
  await change(
    { name: "TEAPOT_URL", value: "https://by-hand.example" },
    { name: "TEAPOT_TOKEN", value: null },
  );
  const masked = await run<Told[]>("config", "diff", uuid);
  expect(masked).toMatchObject({
    code: 1,
    data: [{ state: "missing", value: "[secret]", platform: null }, { state: "differs" }],
  });
  expect(JSON.stringify(masked.data)).not.toContain("by-hand");
  const revealed = await run<Told[]>("config", "diff", uuid, "--reveal");
  expect(revealed.data[1]).toMatchObject({
    value: wanted["TEAPOT_URL"],
    platform: "https://by-hand.example",
  });
  const { stdout } = await say("config", "diff", uuid);
  expect(stdout).toMatch(/^NAME +STATE\nTEAPOT_TOKEN +missing\nTEAPOT_URL +differs\n/);
  expect(stdout).toContain(`kit config push ${uuid} --overwrite TEAPOT_URL\n`);
  expect((await say("config", "diff", uuid, "--reveal")).stdout).toMatch(
    new RegExp(`TEAPOT_URL +differs +${wanted["TEAPOT_URL"]} +https://by-hand\\.example\n`),
  );
});

it("config push sets missing vars, and keeps those that were changed by hand", async () => {
  await change(
    { name: "TEAPOT_URL", value: "https://by-hand.example" },
    { name: "TEAPOT_TOKEN", value: null },
  );
  const { code, stdout, stderr } = await say("config", "push", uuid, "--yes");
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("To be changed: TEAPOT_TOKEN\n"),
  });
  expect(stdout).toContain("Changed: TEAPOT_TOKEN.\nKept as the platform has it: TEAPOT_URL.\n");
  const unchanged = await say("config", "push", uuid);
  expect(unchanged.stdout).toMatch(
    /\n\nKept as the platform has it: TEAPOT_URL\.\n[^]* --overwrite TEAPOT_URL\n$/,
  );
  expect(await onPlatform()).toEqual({ ...wanted, TEAPOT_URL: "https://by-hand.example" });

  const again = await run("config", "push", uuid, "--overwrite", "TEAPOT_URL", "--yes");
  expect(again).toMatchObject({
    code: 0,
    data: [{ name: "TEAPOT_TOKEN" }, { name: "TEAPOT_URL", value: "[secret]" }],
  });
  expect(await onPlatform()).toEqual(wanted);
});

it("config push removes an extra var only when it is named", async () => {
  await run("config", "set", uuid, "--unset", "TEAPOT_TOKEN");
  await change({ name: "TEAPOT_TOKEN", value: "by-hand" });
  expect((await run<Told[]>("config", "diff", uuid)).data[0]).toMatchObject({ state: "extra", value: null });
  await run("config", "push", uuid, "--yes");
  expect(await onPlatform()).toHaveProperty("TEAPOT_TOKEN", "by-hand");
  await run("config", "push", uuid, "--overwrite", "TEAPOT_TOKEN", "--yes");
  expect(await onPlatform()).not.toHaveProperty("TEAPOT_TOKEN");
  await run("config", "set", uuid, `TEAPOT_TOKEN=${wanted["TEAPOT_TOKEN"]}`);
});

it("config push removes a var that is no longer declared, by the printed command and by name", async () => {
  const { vault, offer } = life.world.service.services;
  const manifest = addonManifest("teapots", offer);
  /** The service set it, and has retired it since: the platform takes no value for it. */
  async function leaveBehind(name: string): Promise<void> {
    const kept = Object.entries(wanted).map(([each, value]) => ({ name: each, value }));
    const sealed = sealConfig(vault, uuid, [...kept, { name, value: "left" }]);
    await life.world.rows(`UPDATE resources SET sealed_config = $2 WHERE uuid = $1`, [uuid, sealed]);
    life.control.partner({ addonManifest: { ...manifest, config_vars: [...offer.configVars, name] } });
    await change({ name, value: "left" });
    life.control.partner({ addonManifest: manifest });
  }

  await leaveBehind("TEAPOT_LID");
  const { stdout } = await say("config", "diff", uuid);
  const [, words] = /kit (config push .* --overwrite TEAPOT_LID)/.exec(stdout)!;
  const pushed = await say(...words!.split(" "), "--yes");
  expect(pushed).toMatchObject({ code: 0, stdout: expect.stringContaining("Changed: TEAPOT_LID.") });
  expect(await onPlatform()).toEqual(wanted);

  // The platform has removed it and would refuse it: nothing is missing.
  expect(await run("config", "diff", uuid)).toMatchObject({ code: 0 });
  expect(await run("config", "push", uuid, "--overwrite", "TEAPOT_LID")).toMatchObject({ code: 0 });
  await leaveBehind("TEAPOT_LID");
  expect(await run("config", "set", uuid, "--unset", "KETTLE")).toMatchObject({ code: 2 });
  expect(await run("config", "set", uuid, "TEAPOT_LID=on")).toMatchObject({ code: 2 });
  expect(await run("config", "set", uuid, "--unset", "TEAPOT_LID")).toMatchObject({ code: 0 });
  expect(await onPlatform()).toEqual(wanted);
});

it("config push changes nothing without a yes, and nothing when a name is wrong", async () => {
  await change({ name: "TEAPOT_TOKEN", value: null });
  const unasked = await say("config", "push", uuid);
  expect(unasked).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/TEAPOT_TOKEN +missing[^]*Say --yes/),
  });
  expect(await run("config", "push", uuid)).toMatchObject({ code: 2, data: { id: "used_wrongly" } });
  expect(await run("config", "push", uuid, "--yes", "--overwrite", "KETTLE")).toMatchObject({
    code: 2,
    data: { message: expect.stringContaining("TEAPOT_URL, TEAPOT_TOKEN") },
  });
  expect(await onPlatform()).not.toHaveProperty("TEAPOT_TOKEN");
});

it("config diff names an unknown resource", async () => {
  const unknown = await say("config", "diff", "01234567-89ab-cdef-0123-456789abcdef");
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no resource") });
});

it("config diff and push leave vars alone that were set before the kit", async () => {
  const imported = await life.settled();
  // The state after an import.
  await life.world.rows(`UPDATE resources SET sealed_config = NULL WHERE uuid = $1`, [imported]);
  const theirs = () => life.world.service.services.platformFor(imported).config.get();
  const before = await theirs();
  const states = async () => {
    const { code, data } = await run<Told[]>("config", "diff", imported);
    return { code, states: data.map(({ name, state }) => `${name} ${state}`) };
  };
  const overwrite = ["--overwrite", "TEAPOT_TOKEN", "TEAPOT_URL", "--yes"];

  expect(await states()).toEqual({ code: 0, states: ["TEAPOT_TOKEN foreign", "TEAPOT_URL foreign"] });
  expect((await say("config", "diff", imported)).stdout).toContain("or has not said yet which.\n");
  expect(await run("config", "push", imported, ...overwrite)).toMatchObject({ code: 0 });
  expect(await theirs()).toEqual(before);

  await run("config", "set", imported, "TEAPOT_URL=https://set.example");
  expect(await states()).toEqual({ code: 0, states: ["TEAPOT_TOKEN foreign", "TEAPOT_URL same"] });
  expect((await say("config", "diff", imported)).stdout).toContain(
    "Nothing that was ever set from here differs.",
  );
  expect(await run("config", "push", imported, ...overwrite)).toMatchObject({ code: 0 });
  expect(await theirs()).toContainEqual(before.find(({ name }) => name === "TEAPOT_TOKEN"));
});
