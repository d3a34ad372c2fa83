import { randomBytes } from "node:crypto";
import { runWorker } from "../../../src/process/run-worker.ts";
import type { RunningService } from "../../../src/process/start-up.ts";
import { kit } from "../../support/kit.ts";
import { teapotConfig, teapotParts } from "../../support/sellers.ts";
import { aWorld, eventually, opened } from "../../support/world.ts";

let other: RunningService | null = null;
const world = opened(() => aWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
afterEach(() => other?.stop());

it("the encryption key is changed under load, with different keys in different processes, without an error", async () => {
  const [old, fresh] = [world.environment["ENCRYPTION_KEY"]!, randomBytes(24).toString("hex")];
  const uuids = await world.installed(20);
  const lines: string[] = [];
  const steps = [
    { ENCRYPTION_KEY: old, DECRYPTION_KEYS: "" },
    { ENCRYPTION_KEY: old, DECRYPTION_KEYS: fresh },
    { ENCRYPTION_KEY: fresh, DECRYPTION_KEYS: old },
    { ENCRYPTION_KEY: fresh, DECRYPTION_KEYS: "" },
  ];
  let expected = 1;
  for (const [index, settings] of steps.entries()) {
    if (index === 3) {
      const said = await kit({ ...world.environment, ...steps[2] }, ["keys", "reseal"]);
      expect({ code: said.code, stderr: said.stderr }).toEqual({ code: 0, stderr: "" });
      await otherWith(steps[2]!);
    }
    // One process has the new settings and the other has not, then both have; each refreshes and reads every token.
    await world.restart({ environment: settings });
    for (let round = 0; round < 2; round++) {
      await world.forged.tokensFellDue(uuids);
      expected += 1;
      await allHave(expected);
      for (const { services } of other ? [world.service, other] : [world.service]) {
        const read = await Promise.all(uuids.map((uuid) => services.platformFor(uuid).addons.own()));
        expect(read.map(({ id }) => id)).toEqual(uuids);
      }
      if (round === 0 && index < 3) await otherWith(settings);
    }
  }
  expect(lines.join("") + world.logged()).not.toMatch(/cannot be decrypted|needs key|quarantined/);

  async function allHave(generation: number): Promise<void> {
    await eventually(async () => {
      const found = await world.rows(
        `SELECT state, generation, count(*)::int AS count FROM credentials GROUP BY 1, 2`,
      );
      expect(found).toEqual([{ state: "active", generation, count: 20 }]);
    });
  }

  async function otherWith(settings: Record<string, string>): Promise<void> {
    await other?.stop();
    other = await runWorker(teapotConfig({ ...world.environment, ...settings }), {
      ...teapotParts,
      logTo: { write: (line) => void lines.push(line) },
    });
    await other.ready;
  }
});
