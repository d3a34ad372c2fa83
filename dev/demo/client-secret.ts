import assert from "node:assert/strict";
import { type DemoStage, eventually } from "./stage.ts";
import { type Step, theAddon } from "./step.ts";

export const secretReset: Step = {
  title: "The client secret is reset, and the service notices",
  async run(stage) {
    const { id } = theAddon(stage);
    newSecret = stage.sandbox.control.resetClientSecret().secret;
    await assert.rejects(stage.service.services.platformFor(id).addons.own());
    await eventually(async () => {
      const [row] = await stage.rows(
        `SELECT rejected_at IS NOT NULL AS "isRejected" FROM client_secrets ORDER BY version DESC LIMIT 1`,
      );
      assert.deepEqual(row, { isRejected: true });
      assert.equal(await readiness(stage), "degraded");
    });
    assert.match(stage.logged(), /client_secret_rejected/);
    const [row] = await stage.rows(`SELECT state FROM credentials WHERE uuid = $1`, id);
    assert.deepEqual(row, { state: "active" });
    return `every access token is dead: an alarm in the log, "degraded" at /readyz, and no resource is blamed`;
  },
};

/** The portal shows the secret only once; the next step gives it to the service. */
let newSecret = "";

export const secretSet: Step = {
  title: "The operator gives it the new secret",
  async run(stage) {
    const { id } = theAddon(stage);
    const { version, due, fresh } = await stage.kit<Record<string, number>>(["secret", "set"], newSecret);
    assert.deepEqual([version, due, fresh], [2, 1, 1]);
    assert.equal(theAddon(stage).tokens.at(-1)?.state, "valid");
    const { app } = await stage.service.services.platformFor(id).addons.own();
    assert.equal(app.name, "shop");
    // Each process reads the state of the secret from the database every 5 seconds.
    await eventually(async () => assert.equal(await readiness(stage), "ready"));
    return `kit secret set: version ${version}, ${fresh} of ${due} tokens fresh; calls work again`;
  },
};

async function readiness({ service }: DemoStage): Promise<string> {
  const answer = await fetch(`${service.url!}/readyz`);
  return ((await answer.json()) as { status: string }).status;
}
