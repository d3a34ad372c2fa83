import { statement } from "../../src/database/database.ts";
import { claimSteps, holdStep, putOffStep } from "../../src/work/queue.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase();
it("an extension of its lease that comes after a step was put off does not hold it back", async () => {
  const db = opened.database;
  const uuid = "11111111-2222-4333-8444-555555555555";
  const run = (text: string) => db.query(statement("", text), [uuid]);
  await run(
    `INSERT INTO resources (uuid, plan, applied_plan, state) VALUES ($1, 'basic', 'basic', 'provisioned')`,
  );
  await run(`INSERT INTO steps (uuid, kind, due_at) VALUES ($1, 'finish', now())`);
  const [claimed] = await claimSteps(db, "vendor", 1);
  expect(await holdStep(db, claimed!)).toBe(true);
  await putOffStep(db, claimed!, 0, {});
  expect(await holdStep(db, claimed!)).toBe(false);
  expect(await claimSteps(db, "vendor", 1)).toMatchObject([{ lease: claimed!.lease + 1 }]);
});
