import assert from "node:assert/strict";
import { answerInWords, list, textIn } from "../wording.ts";
import { FIRST_PLAN } from "./plans.ts";
import { eventually } from "./stage.ts";
import { issuedTokens, type Step, theAddon } from "./step.ts";

/** The token's lifetime while the refresh is shown: the refresh is due after about half of it. */
export const SHORT_LIFE_SECONDS = 6;

export const provision: Step = {
  title: "A customer installs the add-on",
  async run({ sandbox, untilYours }) {
    sandbox.control.settings({ expiresIn: SHORT_LIFE_SECONDS });
    sandbox.control.createApp({ name: "shop" });
    const { addon, response } = await sandbox.control.install({ app: "shop", plan: FIRST_PLAN });
    if (response.status === 202) {
      await untilYours(() => {
        const { state } = sandbox.control.addon(addon.id);
        assert.equal(state, "provisioned", `answered 202, and the platform has it as ${state} still`);
      });
      const names = Object.keys(sandbox.control.configVars("shop"));
      return `${addon.name} on the app "shop": answered 202, and ${list(names) || "nothing"} came when it was made`;
    }
    assert.equal(response.status, 200, `answered with ${answerInWords(response)}`);
    const config = (response.body as { config: Record<string, string> }).config;
    assert.deepEqual(sandbox.control.configVars("shop"), config, "the app runs with what was answered");
    return `${addon.name} on the app "shop": answered with ${list(Object.keys(config)) || "nothing"}`;
  },
};

export const exchange: Step = {
  title: "Its grant is exchanged, its tokens are sealed",
  async run(stage) {
    const { id } = theAddon(stage);
    const row = await eventually(async () => {
      const [found] = await stage.rows<{ access: Buffer; refresh: Buffer }>(
        `SELECT sealed_access_token AS access, sealed_refresh_token AS refresh FROM credentials WHERE uuid = $1 AND state = 'active'`,
        id,
      );
      assert.ok(found, "the credential is active");
      return found;
    });
    assert.equal(theAddon(stage).grant?.state, "exchanged");
    const { access, refresh } = issuedTokens(stage);
    const sealed = Buffer.concat([row.access, row.refresh]);
    for (const token of [...access, ...refresh]) assert.ok(!sealed.includes(token), "no token is readable");
    return `once, after the answer had gone out; no token is readable in the database`;
  },
};

export const appIsKnown: Step = {
  title: "The service finds the app it serves",
  async run(stage) {
    const { id } = theAddon(stage);
    await eventually(async () => {
      const [row] = await stage.rows(`SELECT app_name AS name FROM resources WHERE uuid = $1`, id);
      assert.equal(textIn(row, "name"), "shop");
    });
    return `"shop", asked with the resource's own token`;
  },
};
