import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Misconfigured } from "../../src/errors.ts";
import { countKeyUse } from "../../src/vault/store.ts";
import { type Step, theAddon } from "./step.ts";

export const newKey: Step = {
  title: "The encryption key is changed",
  async run(stage) {
    const old = stage.encryptionKey();
    await stage.restart({ ENCRYPTION_KEY: randomBytes(32).toString("hex"), DECRYPTION_KEYS: old });
    const { app } = await stage.service.services.platformFor(theAddon(stage).id).addons.own();
    assert.equal(app.name, "shop");
    return `restarted with a new ENCRYPTION_KEY and the old one in DECRYPTION_KEYS: what was sealed still opens`;
  },
};

export const reseal: Step = {
  title: "Everything is sealed anew",
  async run(stage) {
    const { resealed, byKey } = await stage.kit<{ resealed: number; byKey: unknown[] }>(["keys", "reseal"]);
    const uses = await countKeyUse(stage.service.services.db);
    assert.deepEqual(
      uses.map(({ keyId }) => keyId),
      [stage.service.services.vault.keyId],
    );
    assert.deepEqual(byKey, uses);
    return `kit keys reseal: ${resealed} rows; nothing needs the old key any more`;
  },
};

export const oldKeyDropped: Step = {
  title: "The old key is dropped",
  async run(stage) {
    await stage.restart({ DECRYPTION_KEYS: "" }).catch((error: unknown) => {
      throw error instanceof Misconfigured ? new Error(error.message) : error;
    });
    await stage.kit(["tokens", "refresh", theAddon(stage).id]);
    assert.equal(theAddon(stage).tokens.at(-1)?.state, "valid");
    return `restarted without it: tokens are opened, refreshed and sealed with the new one alone`;
  },
};
