import assert from "node:assert/strict";
import { SHORT_LIFE_SECONDS } from "./provision.ts";
import { type DemoStage, eventually } from "./stage.ts";
import { issuedTokens, type Step, theAddon } from "./step.ts";

const FULL_LIFE_SECONDS = 28_800;

export const refresh: Step = {
  title: "Its token is refreshed before it expires",
  async run(stage) {
    const before = issuedTokens(stage).access.at(-1)!;
    const leftSeconds = await eventually(() => {
      const tokens = theAddon(stage).tokens;
      const [former, latest] = tokens.slice(-2);
      assert.ok(latest && tokens.length > 1, "a second token was issued");
      assert.equal(latest.state, "valid");
      // "revoked", not "expired": the token was replaced before it expired.
      assert.equal(former?.state, "revoked");
      return (
        (Date.parse(former.expires_at) - (Date.parse(latest.expires_at) - SHORT_LIFE_SECONDS * 1000)) / 1000
      );
    });
    assert.equal(await statusWith(stage, before), 401, "the old token is dead");
    return `${leftSeconds.toFixed(1)} s before the end of its ${SHORT_LIFE_SECONDS} s, and the old one is refused`;
  },
};

export const fullLife: Step = {
  title: "From here on tokens live 8 hours",
  async run(stage) {
    stage.sandbox.control.settings({ expiresIn: FULL_LIFE_SECONDS });
    await eventually(async () => {
      const [row] = await stage.rows<{ hours: number }>(
        `SELECT extract(epoch FROM expires_at - now())::float8 / 3600 AS hours FROM credentials WHERE uuid = $1`,
        theAddon(stage).id,
      );
      assert.ok(row && row.hours > 7.9, "the token at hand lives 8 hours");
    });
    return `the next one falls due in about 4`;
  },
};

/** The platform's status for a call with this token. */
async function statusWith(stage: DemoStage, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, accept: stage.sandbox.settings.mediaType };
  return (await fetch(`${stage.sandbox.url}/addons/${theAddon(stage).id}`, { headers })).status;
}
