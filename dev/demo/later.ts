import assert from "node:assert/strict";
import { answerInWords, list } from "../wording.ts";
import { CONFIG_VARS, LATER_PLAN } from "./plans.ts";
import { eventually } from "./stage.ts";
import type { Step } from "./step.ts";

export const later: Step = {
  title: "A customer installs a plan that takes longer",
  async run(stage) {
    if (!LATER_PLAN) return "left out: no plan has `later` in your plans.ts";
    const { control } = stage.sandbox;
    control.createApp({ name: "hotel" });
    const { addon, response } = await control.install({ app: "hotel", plan: LATER_PLAN });
    assert.equal(response.status, 202, `answered with ${answerInWords(response)}`);
    assert.equal(addon.state, "provisioning");
    await stage.untilYours(() => {
      const { state } = control.addon(addon.id);
      assert.equal(state, "provisioned", `answered 202, and the platform has it as ${state} still`);
    });
    await eventually(async () => {
      const [row] = await stage.rows(`SELECT state FROM resources WHERE uuid = $1`, addon.id);
      assert.deepEqual(row, { state: "provisioned" });
    });
    const vars = Object.keys(control.configVars("hotel"));
    assert.ok(vars.length > 0 || CONFIG_VARS.length === 0, "the app has config vars");
    return `${LATER_PLAN}: answered 202, then set ${list(vars) || "nothing"} and reported that it is ready`;
  },
};
