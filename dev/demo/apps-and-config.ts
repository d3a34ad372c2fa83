import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { list } from "../wording.ts";
import { CONFIG_VARS } from "./plans.ts";
import { type Step, theAddon } from "./step.ts";

interface Apps {
  primary: { name: string };
  attachments: { name: string; app: { name: string } }[];
}

export const attachedApps: Step = {
  title: "The customer attaches it to a second app",
  async run(stage) {
    const { id } = theAddon(stage);
    stage.sandbox.control.createApp({ name: "blog" });
    stage.sandbox.control.attach(id, { app: "blog" });
    const { primary, attachments } = await stage.kit<Apps>(["apps", id]);
    const apps = attachments.map(({ app }) => app.name).sort();
    assert.equal(primary.name, "shop");
    assert.deepEqual(apps, ["blog", "shop"]);
    return `kit apps: the primary app is "shop", attached are ${list(apps.map((name) => `"${name}"`))}`;
  },
};

export const configVars: Step = {
  title: "The operator sets a config var",
  async run(stage) {
    const { id } = theAddon(stage);
    const name = CONFIG_VARS.at(-1);
    if (name === undefined) return "left out: there is none";
    const value = randomBytes(20).toString("hex");
    await stage.kit(["config", "set", id, `${name}=-`], value);
    for (const app of ["shop", "blog"]) assert.equal(stage.sandbox.control.configVars(app)[name], value);
    return `kit config set: both apps run with the new ${name}`;
  },
};
