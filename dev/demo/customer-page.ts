import assert from "node:assert/strict";
import { type Step, theAddon } from "./step.ts";

export const customerPage: Step = {
  title: "The customer opens the add-on's page",
  async run(stage) {
    const { id } = theAddon(stage);
    const base = stage.service.url!;
    const { form } = stage.sandbox.control.signOnForm(id);
    const signedOn = await fetch(`${base}/sso/login`, {
      ...{ method: "POST", body: new URLSearchParams(form), redirect: "manual" },
    });
    const cookie = signedOn.headers.getSetCookie().map((each) => each.split(";")[0]!);
    const page = new URL(signedOn.headers.get("location") ?? "", base);
    const answer = await fetch(page, { headers: { cookie: cookie.join("; ") } });
    const text = await answer.text();
    assert.equal(answer.status, 200, `the page answers ${answer.status}`);
    // In the place of a page that fails, the customer sees the plan and the state alone.
    assert.ok(!stage.logged().includes('"msg":"A page failed"'), "your page failed");
    return `"${titleOf(text)}", by the platform's sign-on`;
  },
};

const titleOf = (page: string) => /<title>([^<]*)/.exec(page)?.[1] ?? "";
