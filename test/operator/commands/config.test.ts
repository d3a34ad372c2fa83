import { addonManifest } from "../../../src/resources/check-offer.ts";
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
beforeEach(() => change(wanted));

/** Changes config vars at the platform by hand. */
const change = (vars: Record<string, string | null>) =>
  life.world.service.services
    .platformFor(uuid)
    .config.update(Object.entries(vars).map(([name, value]) => ({ name, value })));

async function onPlatform(of = uuid): Promise<Record<string, string>> {
  const config = await life.world.service.services.platformFor(of).config.get();
  return Object.fromEntries(config.map(({ name, value }) => [name, value!]));
}

const run = <Data>(...words: string[]) => kitJson<Data>(life.world.environment, ["config", ...words]);
const say = (...words: string[]) => kit(life.world.environment, ["config", ...words]);
const statesOf = async (of = uuid) => {
  const { code, data } = await run<{ name: string; state: string }[]>("diff", of);
  return { code, states: data.map(({ name, state }) => `${name} ${state}`) };
};

it("config set keeps single vars, so that a later push does not undo them, and shows values only with --reveal", async () => {
  const set = ["config", "set", uuid, "TEAPOT_URL=https://moved.example/a=b", "TEAPOT_TOKEN=-"];
  const masked = ["TEAPOT_TOKEN", "TEAPOT_URL"].map((name) => ({ name, value: "[secret]" }));
  expect(await kitJson(life.world.environment, set, "from-standard-input\n")).toEqual({ code: 0, data: masked }); // prettier-ignore
  expect((await say("get", uuid)).stdout).not.toMatch(/moved|from-standard-input/);
  expect(await run("push", uuid, "--reveal")).toEqual({
    code: 0,
    data: [
      { name: "TEAPOT_TOKEN", value: "from-standard-input" },
      { name: "TEAPOT_URL", value: "https://moved.example/a=b" },
    ],
  });
  await run("set", uuid, ...Object.entries(wanted).map((pair) => pair.join("=")));
});

it("config diff shows equal, different and missing vars, their values only with --reveal", async () => {
  expect(await statesOf()).toEqual({ code: 0, states: ["TEAPOT_TOKEN same", "TEAPOT_URL same"] });
  await change({ TEAPOT_URL: "https://by-hand.example", TEAPOT_TOKEN: null });
  expect(await run("diff", uuid)).toEqual({
    code: 1,
    data: [
      { name: "TEAPOT_TOKEN", state: "missing", value: "[secret]", platform: null },
      { name: "TEAPOT_URL", state: "differs", value: "[secret]", platform: "[secret]" },
    ],
  });
  const differing = { value: wanted["TEAPOT_URL"], platform: "https://by-hand.example" };
  expect((await run<object[]>("diff", uuid, "--reveal")).data[1]).toMatchObject(differing);
  expect((await say("diff", uuid)).stdout).not.toContain("by-hand");
  expect((await say("diff", uuid, "--reveal")).stdout).toContain("https://by-hand.example");
});

it("config push sets what is missing or differs, and removes what is no longer wanted or declared", async () => {
  const { vault, offer } = life.world.service.services;
  const manifest = addonManifest("teapots", offer);
  /** The service set it, and has retired it since: the platform takes no value for it. */
  async function leaveBehind(name: string): Promise<void> {
    const kept = Object.entries(wanted).map(([each, value]): ConfigVar => ({ name: each, value }));
    const sealed = sealConfig(vault, uuid, [...kept, { name, value: "left" }]);
    await life.world.rows(`UPDATE resources SET sealed_config = $2 WHERE uuid = $1`, [uuid, sealed]);
    life.control.partner({ addonManifest: { ...manifest, config_vars: [...offer.configVars, name] } });
    await change({ [name]: "left" });
    life.control.partner({ addonManifest: manifest });
  }
  await leaveBehind("TEAPOT_LID");
  await change({ TEAPOT_URL: "https://by-hand.example", TEAPOT_TOKEN: null });
  expect((await statesOf()).states.join()).toBe("TEAPOT_LID extra,TEAPOT_TOKEN missing,TEAPOT_URL differs");
  expect(await say("push", uuid, "--yes")).toMatchObject({
    ...{ code: 0, stderr: expect.stringMatching(/TEAPOT_LID +extra\n/) },
    stdout: expect.stringContaining("Changed: TEAPOT_LID, TEAPOT_TOKEN, TEAPOT_URL."),
  });
  expect(await onPlatform()).toEqual(wanted);
  // The platform has removed it and would refuse it: nothing is missing.
  expect((await say("push", uuid)).stdout).toContain("Nothing had to be changed.");

  await leaveBehind("TEAPOT_LID");
  expect(await run("set", uuid, "TEAPOT_LID=on")).toMatchObject({ code: 1 });
  expect(await run("set", uuid, "--unset", "TEAPOT_LID")).toMatchObject({ code: 0 });
  expect(await onPlatform()).toEqual(wanted);
});

it("config push shows the difference, and changes nothing without a yes", async () => {
  await change({ TEAPOT_TOKEN: null });
  const unasked = await say("push", uuid);
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringMatching(/TEAPOT_TOKEN +missing[^]*--yes/) });
  expect(await run("push", uuid)).toMatchObject({ code: 2, data: { id: "used_wrongly" } });
  expect(await onPlatform()).not.toHaveProperty("TEAPOT_TOKEN");
});

it("config diff and push leave vars alone that were set before the kit", async () => {
  const imported = await life.settled();
  // The state after an import.
  await life.world.rows(`UPDATE resources SET sealed_config = NULL WHERE uuid = $1`, [imported]);
  const before = await onPlatform(imported);
  expect(await statesOf(imported)).toEqual({
    code: 0,
    states: ["TEAPOT_TOKEN foreign", "TEAPOT_URL foreign"],
  });
  expect(await run("push", imported, "--yes")).toMatchObject({ code: 0 });
  expect(await onPlatform(imported)).toEqual(before);
  await run("set", imported, "TEAPOT_URL=https://set.example");
  expect(await statesOf(imported)).toEqual({ code: 0, states: ["TEAPOT_TOKEN foreign", "TEAPOT_URL same"] });
  expect(await run("push", imported, "--yes")).toMatchObject({ code: 0 });
  expect(await onPlatform(imported)).toMatchObject({ TEAPOT_TOKEN: before["TEAPOT_TOKEN"] });
});
