import assert from "node:assert/strict";
import { issuedTokens, type Step, theAddon } from "./step.ts";

const SEALED = `
  SELECT sealed_access_token, sealed_refresh_token, sealed_grant_code, sealed_answer, sealed_config
  FROM credentials c JOIN resources r USING (uuid) WHERE uuid = $1`;

export const deprovision: Step = {
  title: "The customer removes it",
  async run(stage) {
    const { id } = theAddon(stage);
    const { addon, response } = await stage.sandbox.control.deprovision(id);
    assert.equal(response.status, 204);
    assert.equal(addon.state, "deprovisioned");
    const [row] = await stage.rows<Record<string, unknown>>(SEALED, id);
    assert.deepEqual(new Set(Object.values(row!)), new Set([null]), "nothing sealed is left");
    await stage.untilYours(async () => {
      const left = await stage.rows(`SELECT id FROM steps WHERE uuid = $1`, id);
      assert.equal(left.length, 0, "answered 204, and your deprovision is not done");
    });
    const again = await stage.sandbox.control.deprovision(id);
    assert.equal(again.response.status, 410);
    return `answered 204; every secret of it is erased, and your deprovision is done; asked again, it answers 410`;
  },
};

export const nothingLeaked: Step = {
  title: "No secret stands in the log",
  run(stage) {
    const { access, refresh } = issuedTokens(stage);
    const { clientSecret, addonPassword } = stage.sandbox.settings;
    const secrets = [...access, ...refresh, clientSecret, addonPassword, stage.encryptionKey()];
    const log = stage.logged();
    for (const secret of secrets) assert.ok(!log.includes(secret), "a secret stands in the log");
    const lines = log.split("\n").length - 1;
    return Promise.resolve(`${new Set(secrets).size} secrets looked for in ${lines} lines`);
  },
};
