import os from "node:os";
import { actionsBefore, type AuditEntry } from "../../../src/operator/store.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { opened } from "../../support/world.ts";

const OLD = "11234567-89ab-cdef-0123-456789abcdef";

let uuid: string;
const life = opened(() => aLifecycle({ environment: { OPERATOR_PASSWORD: "a-password-of-the-operator" } }));
beforeAll(async () => {
  uuid = await life.settled();
});

const environment = () => life.world.environment;
/** Runs a command, and answers what it added to the audit trail, and its output. */
async function trailOf(words: string[], input = "") {
  await life.world.rows(`DELETE FROM operator_actions`);
  const said = await kit(environment(), words, input);
  return { said, added: await entries() };
}
const entries = async (): Promise<AuditEntry[]> =>
  (await actionsBefore(life.world.service.services.db, null)).entries;

describe("the audit trail", () => {
  it.each<[typed: string, action: string, message: RegExp | null, input?: string]>([
    ["config set UUID TEAPOT_URL=https://user:hush@x.example", "config set UUID TEAPOT_URL=…", null],
    ["config set UUID TEAPOT_TOKEN=- --reveal", "config set UUID TEAPOT_TOKEN=… --reveal", null, "hush"],
    ["config get UUID --reveal", "config get UUID --reveal", null],
    [
      'api PATCH /addons/UUID/config --resource UUID --data {"config":[{"name":"TEAPOT_URL","value":"hush"}]}',
      "api PATCH /addons/UUID/config --resource UUID --data …",
      /^status 200$/,
    ],
    ["tokens refresh UUID", "tokens refresh UUID", /^1 refreshed, 0 failed, 0 skipped\.$/],
    ["tokens refresh --all", "tokens refresh --all", /^1 refreshed, /],
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
        uuid: words.find((word) => /^[0-9a-f-]{36}$/.test(word)) ?? null,
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

  it("is shown page by page, for one resource, on its page, and on the operator's", async () => {
    await kit(environment(), ["keys", "reseal"]);
    await kit(environment(), ["tokens", "refresh", uuid]);
    const { stdout } = await kit(environment(), ["audit", "--resource", uuid]);
    expect(stdout).toMatch(/^\d{4}-\S+ \S+ {2}done {2}kit tokens refresh [^]*; 1 refreshed/);
    expect(stdout).not.toContain("reseal");
    expect((await kit(environment(), ["resources", "show", uuid])).stdout).toContain("kit tokens refresh");
    const authorization = `Basic ${Buffer.from("operator:a-password-of-the-operator").toString("base64")}`;
    for (const path of [`/resources/${uuid}`, "/actions"]) {
      const page = await fetch(new URL(`/operator${path}`, life.world.service.url!), {
        headers: { authorization },
      });
      expect(await page.text()).toContain("kit tokens refresh");
    }
    await life.world.rows(
      `INSERT INTO operator_actions (action, form, state, ended_at) SELECT 'older', n::text, 'done', now() FROM generate_series(1, 60) n`,
    );
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
