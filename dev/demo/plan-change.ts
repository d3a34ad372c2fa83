import assert from "node:assert/strict";
import { answerInWords } from "../wording.ts";
import { OTHER_PLAN } from "./plans.ts";
import { type Step, theAddon } from "./step.ts";

export const planChange: Step = {
  title: "The customer changes the plan",
  async run(stage) {
    if (!OTHER_PLAN) return "left out: there is only one plan";
    const { id } = theAddon(stage);
    const { response } = await stage.sandbox.control.changePlan(id, OTHER_PLAN);
    if (response.status === 422)
      return `to ${OTHER_PLAN}: refused, and the plan stays: ${sentenceOf(response.body)}`;
    assert.ok(response.status === 200 || response.status === 202, `answered with ${answerInWords(response)}`);
    const { config = {} } = response.body as { config?: Record<string, string> };
    await stage.untilYours(async () => {
      const [row] = await stage.rows(`SELECT plan FROM resources WHERE uuid = $1`, id);
      const sentence = `to ${OTHER_PLAN}: answered ${response.status}, and the plan is not changed yet`;
      assert.deepEqual(row, { plan: OTHER_PLAN }, sentence);
      const open = await stage.rows(`SELECT id FROM steps WHERE uuid = $1`, id);
      assert.equal(open.length, 0, "nothing is left to do");
    });
    const seen = stage.sandbox.control.configVars("shop");
    assert.deepEqual({ ...seen, ...config }, seen, "the app runs with what was answered");
    return `to ${OTHER_PLAN}: answered ${response.status}, and the app runs with the new config vars`;
  },
};

/** The message of a refused plan change, which is allowed; conformance judges whether it is well-formed. */
function sentenceOf(body: unknown): string {
  return String((body as { message?: unknown }).message);
}
