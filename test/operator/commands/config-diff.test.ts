import { addonManifest } from "../../../src/operator/addon-manifest.ts";
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
  fingerprint: string | null;
  platform: { value: string; fingerprint: string } | null;
}

it("config diff shows equal, different, missing and extra vars, without values", async () => {
  expect(await run("config", "diff", uuid)).toMatchObject({
    code: 0,
    data: [
      { name: "TEAPOT_TOKEN", state: "same", value: "[secret]" },
      { name: "TEAPOT_URL", state: "same", platform: { value: "[secret]" } },
    ],
  });
  await change(
    { name: "TEAPOT_URL", value: "https://by-hand.example" },
    { name: "TEAPOT_TOKEN", value: null },
  );
  const { code, data } = await run<Told[]>("config", "diff", uuid);
  const [token, url] = data as [Told, Told];
  expect({ code, token, url }).toMatchObject({
    code: 1,
    token: { state: "missing", platform: null },
    url: { state: "differs" },
  });
  expect(url.fingerprint).toMatch(/^[0-9a-f]{8}$/);
  expect(url.platform!.fingerprint).not.toBe(url.fingerprint);
  expect(JSON.stringify(data)).not.toContain("by-hand");

  const revealed = await run<Told[]>("config", "diff", uuid, "--reveal");
  expect(revealed.data[1]).toMatchObject({
    value: wanted["TEAPOT_URL"],
    platform: { value: "https://by-hand.example" },
  });
});

it("config diff prints a table in 80 columns, and the command that helps", async () => {
  await change({ name: "TEAPOT_URL", value: "https://by-hand.example" });
  const { code, stdout } = await say("config", "diff", uuid);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^NAME +STATE +WANTED +PLATFORM\nTEAPOT_TOKEN +same .*\nTEAPOT_URL +differs /);
  expect(stdout).toContain(`kit config push ${uuid} \\\n    --overwrite TEAPOT_URL\n`);
  expect(Math.max(...stdout.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80);

  const revealed = await say("config", "diff", uuid, "--reveal");
  expect(revealed.stdout).toMatch(
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
    stderr: expect.stringContaining("To be changed: TEAPOT_TOKEN missing"),
  });
  expect(stdout).toContain("1 var changed.\nKept as the platform has it: TEAPOT_URL differs.");
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
  const [, words] = /kit (config push [^]*--overwrite TEAPOT_LID)/.exec(stdout)!;
  const pushed = await say(...words!.replaceAll("\\\n", " ").trim().split(/ +/), "--yes");
  expect(pushed).toMatchObject({ code: 0, stdout: expect.stringContaining("1 var changed.") });
  expect(await onPlatform()).toEqual(wanted);

  await leaveBehind("TEAPOT_LID");
  const push = ["config", "push", "--all", "--overwrite", "TEAPOT_LID", "--yes"];
  expect(await run(...push)).toMatchObject({ code: 0, data: { done: [uuid] } });
  expect(await onPlatform()).toEqual(wanted);
  expect(await run(...push)).toMatchObject({ code: 0, data: { done: [], failed: [] } });
  expect(await run("config", "push", "--all", "--overwrite", "KETTLE", "--yes")).toMatchObject({ code: 2 });

  // The platform has removed it and would refuse it: nothing is missing.
  expect(await run("config", "diff", uuid)).toMatchObject({ code: 0 });
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

it("config diff --all lists resources that differ, that could not be asked, and that are fine", async () => {
  const [fine, mute] = [await life.settled(), await life.settled()];
  await life.world.rows(`UPDATE credentials SET state = 'grant_lost', reason = 'expired' WHERE uuid = $1`, [
    mute,
  ]);
  await change({ name: "TEAPOT_TOKEN", value: null });
  const { code, data } = await run("config", "diff", "--all");
  expect({ code, data }).toEqual({
    code: 1,
    data: {
      checked: 2,
      different: [{ uuid, vars: expect.arrayContaining([expect.objectContaining({ state: "missing" })]) }],
      failed: [],
      skipped: [{ uuid: mute, reason: "grant_lost" }],
    },
  });
  const human = await say("config", "diff", "--all");
  expect(human.stdout).toContain(`! ${uuid}\n    TEAPOT_TOKEN missing\n`);
  expect(human.stdout).not.toContain(fine);

  const since = life.position();
  expect(await run("config", "push", "--all")).toMatchObject({ code: 2 });
  // Resources that cannot be asked are reported before all config vars are read.
  expect(life.entries(since)).toEqual([]);
  expect(await run("config", "push", "--all", "--yes")).toEqual({
    code: 0,
    data: { done: [uuid], failed: [], skipped: [{ uuid: mute, reason: "grant_lost" }] },
  });
  expect(await onPlatform()).toEqual(wanted);
});

it("config diff names an unknown resource, and says when the platform is away", async () => {
  const unknown = await say("config", "diff", "01234567-89ab-cdef-0123-456789abcdef");
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no resource") });
  life.control.fault("GET /addons/*", { status: 503 }, 9);
  const away = await run<{ failed: object[] }>("config", "diff", "--all");
  expect(away.code).toBe(1);
  expect(away.data.failed[0]).toMatchObject({ id: expect.any(String), message: expect.any(String) });
  life.control.clearFaults();
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
  const human = (await say("config", "diff", imported)).stdout;
  expect(human).toContain("not known yet");
  expect(human).not.toContain("kit config push");
  expect(await run("config", "push", imported, ...overwrite)).toMatchObject({ code: 0 });
  const { data } = await run<{ skipped: object[] }>("config", "diff", "--all");
  expect(data.skipped).toContainEqual({ uuid: imported, reason: "not_known_yet" });
  expect(await theirs()).toEqual(before);

  await run("config", "set", imported, "TEAPOT_URL=https://set.example");
  expect(await states()).toEqual({ code: 0, states: ["TEAPOT_TOKEN foreign", "TEAPOT_URL same"] });
  expect((await say("config", "diff", imported)).stdout).toContain("Nothing differs.");
  const left = await say("config", "push", imported, ...overwrite);
  expect(left.code).toBe(0);
  expect(left.stdout.replace(/\s+/g, " ")).toContain("Kept as the platform has it: TEAPOT_TOKEN foreign.");
  expect((await say("config", "push", "--all", ...overwrite)).code).toBe(0);
  expect(await theirs()).toContainEqual(before.find(({ name }) => name === "TEAPOT_TOKEN"));
});
