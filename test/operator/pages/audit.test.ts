import { openDatabase, type Database, type Queryable } from "../../../src/database/database.ts";
import { BY_PASSWORD } from "../../../src/operator/audit.ts";
import { findAction } from "../../../src/operator/store.ts";
import { createActionRunner } from "../../../src/operator/pages/action-runner.ts";
import { createLog } from "../../../src/logging/log.ts";
import { createScrubber } from "../../../src/logging/scrubber.ts";
import { aFreshDatabase, type FreshDatabase } from "../../support/database.ts";

let fresh: FreshDatabase;
let db: Database;
beforeAll(async () => {
  fresh = await aFreshDatabase();
  db = openDatabase(fresh.settings);
});
afterAll(async () => {
  await db.close();
  await fresh.close();
});

/** A database that loses a connection once: before it executes the statement of this name, or after. */
function losingTheConnection(at: "before" | "after", name: string): Queryable {
  let isLost = false;
  return {
    async query(statement, values) {
      const isHere = statement.name === name && !isLost;
      isLost ||= isHere;
      const rows = isHere && at === "before" ? [] : await db.query(statement, values);
      if (isHere) throw new Error("Connection terminated unexpectedly");
      return rows as never;
    },
  };
}

it.each([
  ["after", "begin_operator_action"],
  ["before", "end_operator_action"],
] as const)(
  "an action is carried out once and its end is recorded although the connection was lost %s %s",
  async (at, name) => {
    const log = createLog("silent", createScrubber(""));
    const runner = createActionRunner({ db: losingTheConnection(at, name), scrub: (text) => text, log });
    let times = 0;
    const work = async () => ({ isDone: true, message: `${(times += 1)} done.` });
    const asked = { action: "refresh", uuid: null, operator: BY_PASSWORD, form: name, requestId: name };
    const id = await runner.begin(asked, work);
    expect(await runner.begin({ ...asked, requestId: "the second press" }, work)).toBe(id);
    await runner.stop();
    expect(times).toBe(1);
    expect(await findAction(db, id)).toMatchObject({ state: "done", message: "1 done." });
  },
);
