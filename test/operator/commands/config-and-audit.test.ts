import os from "node:os";
import { addonManifest } from "../../../src/offer.ts";
import { actionsBefore, type AuditEntry } from "../../../src/operator/audit.ts";
import { type ConfigVar, sealConfig } from "../../../src/resources/config-vars.ts";
import { interleavings } from "../../support/interleavings.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { opened } from "../../support/world.ts";

let uuid: string;
const life = opened(() => aLifecycle());
beforeAll(async () => {
  uuid = await life.settled();
});
describe("kit config", () => {
  let wanted: Record<string, string>;
  beforeAll(() => {
    wanted = onPlatform();
  });
  beforeEach(() => change(wanted));

  /** Changes config vars at the platform by hand. */
  const change = (vars: Record<string, string | null>) =>
    life.world.service.services
      .platformFor(uuid)
      .config.update(Object.entries(vars).map(([name, value]) => ({ name, value })));

  const onPlatform = (of = uuid) => life.varsAt(of);
  const run = <Data>(...words: string[]) => kitJson<Data>(life.world.environment, ["config", ...words]);
  const say = (...words: string[]) => kit(life.world.environment, ["config", ...words]);
  const statesOf = async (of = uuid) => {
    const { code, data } = await run<{ name: string; state: string }[]>("diff", of);
    return { code, states: data.map(({ name, state }) => `${name} ${state}`) };
  };

  it("set keeps single vars, so that a later push does not undo them, and shows values only with --reveal", async () => {
    const set = ["config", "set", uuid, "TEAPOT_URL=https://moved.example/a=b", "TEAPOT_TOKEN=-"];
    const masked = ["TEAPOT_TOKEN", "TEAPOT_URL"].map((name) => ({ name, value: "[secret]" }));
    const { moments, parts } = interleavings();
    // What the platform has got is kept here although the first try is ended by another transaction.
    moments.set("deadlock set_config", () => Promise.resolve());
    const words = [...set, "--json"];
    const { code, stdout } = await kit(life.world.environment, words, "from-standard-input\n", parts);
    expect([code, JSON.parse(stdout), moments.size]).toEqual([0, masked, 0]);
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

  it("diff shows equal, different and missing vars, their values only with --reveal", async () => {
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

  it("push sets what is missing or differs, and removes what is no longer wanted or declared", async () => {
    const { vault, offer } = life.world.service.services;
    const manifest = addonManifest("teapots", offer);
    /** The service set it, and has retired it since: the platform takes no value for it. */
    async function leaveBehind(name: string): Promise<void> {
      const kept = Object.entries(wanted).map(([each, value]): ConfigVar => ({ name: each, value }));
      const sealed = sealConfig(vault, uuid, [...kept, { name, value: "left" }]);
      await life.world.forged.configIs(uuid, sealed);
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
    expect(onPlatform()).toEqual(wanted);
    // The platform has removed it and would refuse it: nothing is missing.
    expect((await say("push", uuid)).stdout).toContain("Nothing had to be changed.");

    await leaveBehind("TEAPOT_LID");
    expect(await run("set", uuid, "TEAPOT_LID=on")).toMatchObject({ code: 1 });
    expect(await run("set", uuid, "--unset", "TEAPOT_LID")).toMatchObject({ code: 0 });
    expect(onPlatform()).toEqual(wanted);
  });

  it("push shows the difference, and changes nothing without a yes", async () => {
    await change({ TEAPOT_TOKEN: null });
    const unasked = await say("push", uuid);
    expect(unasked).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/TEAPOT_TOKEN +missing[^]*--yes/),
    });
    expect(await run("push", uuid)).toMatchObject({ code: 2, data: { id: "used_wrongly" } });
    expect(onPlatform()).not.toHaveProperty("TEAPOT_TOKEN");
  });

  it("diff and push leave vars alone that were set before the kit", async () => {
    const imported = await life.settled();
    // As after an import.
    await life.world.forged.configIs(imported, null);
    const before = onPlatform(imported);
    expect(await statesOf(imported)).toEqual({
      code: 0,
      states: ["TEAPOT_TOKEN foreign", "TEAPOT_URL foreign"],
    });
    expect(await run("push", imported, "--yes")).toMatchObject({ code: 0 });
    expect(onPlatform(imported)).toEqual(before);
    await run("set", imported, "TEAPOT_URL=https://set.example");
    expect(await statesOf(imported)).toEqual({
      code: 0,
      states: ["TEAPOT_TOKEN foreign", "TEAPOT_URL same"],
    });
    expect(await run("push", imported, "--yes")).toMatchObject({ code: 0 });
    expect(onPlatform(imported)).toMatchObject({ TEAPOT_TOKEN: before["TEAPOT_TOKEN"] });
  });
});

const OLD = "11234567-89ab-cdef-0123-456789abcdef";

const environment = () => life.world.environment;
/** Runs a command, and answers what it added to the audit trail, and its output. */
async function trailOf(words: string[], input = "") {
  await life.world.forged.nothingIsLeftOf("operator_actions");
  const said = await kit(environment(), words, input);
  return { said, added: await entries() };
}
const entries = async (): Promise<AuditEntry[]> =>
  (await actionsBefore(life.world.service.services.db, null)).entries;

describe("the audit trail", () => {
  it.each<[typed: string, action: string, message: RegExp | null, input?: string]>([
    ["config set UUID TEAPOT_URL=https://user:hush@x.example", "config set UUID TEAPOT_URL=…", null],
    ["config set UUID TEAPOT_TOKEN=- --reveal", "config set UUID TEAPOT_TOKEN=… --reveal", null, "hush"],
    [`config set UUID TEAPOT_TOKEN=${OLD}`, "config set UUID TEAPOT_TOKEN=…", null],
    ["config get UUID --reveal", "config get UUID --reveal", null],
    [
      'api PATCH /addons/UUID/config --resource UUID --data {"config":[{"name":"TEAPOT_URL","value":"hush"}]}',
      "api PATCH /addons/UUID/config --resource UUID --data …",
      /^status 200$/,
    ],
    [
      "api DELETE /apps/a/log-drains/https%3A%2F%2Fu%3Ahush%40logs.example --resource=UUID",
      "api DELETE /apps/a/log-drains/… --resource=UUID",
      /^status 4/,
    ],
    [
      "api DELETE /apps/a/log-drains/d.0d5bd9a5-hush?x=1 --resource UUID",
      "api DELETE /apps/a/log-drains/…?x=… --resource UUID",
      /^status 4/,
    ],
    ["tokens refresh UUID", "tokens refresh UUID", /^1 refreshed, 0 failed, 0 skipped\.$/],
    ["tokens refresh --all", "tokens refresh --all", /^2 refreshed, /],
    ["keys reseal", "keys reseal", /^\d+ rows resealed/],
    ["resources import", "resources import", /^1 resource imported/, `{"uuid":"${OLD}","plan":"basic"}`],
    ["secret set", "secret set", /rejects this client secret/, "hush-of-yesterday-or-before"],
    [`resources erase ${OLD} --yes`, `resources erase ${OLD} --yes`, null],
  ])("has kit %s", async (typed, action, message, input = "") => {
    const words = typed.replaceAll("UUID", uuid).split(" ");
    const { said, added } = await trailOf(words, input);
    expect(added).toMatchObject([
      {
        action: `kit ${action.replaceAll("UUID", uuid)}`,
        uuid: /\b[0-9a-f-]{36}\b/.exec(words.join(" "))?.[0] ?? null,
        operator: { name: os.userInfo().username, account: null, address: os.hostname() },
        state: said.code === 0 ? "done" : "failed",
        message: message && expect.stringMatching(message),
      },
    ]);
    expect(JSON.stringify(added)).not.toContain("hush");
  });

  it("has nothing of commands that only look, and of those that were used wrongly", async () => {
    for (const words of [
      ["resources", "list", "--search", "x"],
      ["config", "get", uuid],
      ["api", "GET", "/addons", "--resource", uuid],
      ["doctor"],
      ["config", "set", uuid],
    ])
      expect((await trailOf(words)).added).toEqual([]);
  });

  it("is shown page by page, for one resource, and with it", async () => {
    await kit(environment(), ["keys", "reseal"]);
    await kit(environment(), ["tokens", "refresh", uuid]);
    const { stdout } = await kit(environment(), ["audit", "--resource", uuid]);
    expect(stdout).toMatch(/^\d{4}-\S+ \S+ {2}done {2}kit tokens refresh [^]*; 1 refreshed/);
    expect(stdout).not.toContain("reseal");
    expect((await kit(environment(), ["resources", "show", uuid])).stdout).toContain("kit tokens refresh");
    await life.world.forged.actionsEnded("older", { count: 60 });
    const pageAfter = async (...words: string[]) =>
      (await kitJson<{ entries: AuditEntry[]; next: number }>(environment(), ["audit", ...words])).data;
    const first = await pageAfter();
    expect(first.entries).toHaveLength(50);
    expect((await pageAfter("--after", String(first.next))).entries[0]!.action).toBe("older");
  });

  it("that cannot be written is a warning, and keeps secrets from being revealed", async () => {
    await life.world.rows(`ALTER TABLE operator_actions RENAME TO out_of_the_way`);
    try {
      const refreshed = await kit(environment(), ["tokens", "refresh", uuid]);
      expect(refreshed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 refreshed/) });
      expect(refreshed.stderr).toMatch(/^! This is not in the audit trail: .*operator_actions/);
      const json = await kit(environment(), ["tokens", "refresh", uuid, "--json"]);
      expect(JSON.parse(json.stdout)).toMatchObject({ done: [uuid] });
      expect(json.stderr).toContain("not in the audit trail");
      const message = expect.stringContaining("operator_actions");
      const get = ["config", "get", uuid];
      expect(await kitJson(environment(), [...get, "--reveal"])).toMatchObject({
        code: 1,
        data: { message },
      });
      expect(await kit(environment(), get)).toMatchObject({ code: 0, stderr: "" });
    } finally {
      await life.world.rows(`ALTER TABLE out_of_the_way RENAME TO operator_actions`);
    }
  });
});
