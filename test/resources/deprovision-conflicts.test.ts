import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import type { Database, Queryable } from "../../src/database/database.ts";
import { deprovision as deprovisionOf } from "../../src/resources/deprovision.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";

let life: LifecycleWorld;
beforeAll(async () => {
  life = await aLifecycle();
});
afterAll(() => life.world.close());

/** A deprovision through the database; `around` may do more about each transaction than to run it. */
function aDeprovision(around: (run: Database["transaction"]) => Database["transaction"]) {
  const ctx = life.world.service.services;
  const transaction = around((work) => ctx.db.transaction(work));
  return (uuid: string) => deprovisionOf({ ...ctx, db: { ...ctx.db, transaction } }, uuid);
}

describe("a deprovision", () => {
  it("that meets the commit of its provision locks the resource before the credential, as everyone does", async () => {
    const uuid = randomUUID();
    const other = new pg.Client({ connectionString: life.world.environment["DATABASE_URL"] });
    await other.connect();
    let others: Promise<unknown> = Promise.resolve();
    const between: (() => Promise<unknown>)[] = [
      // The provision commits behind the back of the first statement,
      () =>
        life.world.rows(
          `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan) VALUES ($1, 'basic', 'basic'))
           INSERT INTO credentials (uuid, state) VALUES ($1, 'no_grant')`,
          [uuid],
        ),
      // and something else begins with the new resource after the second.
      async () => {
        await other.query(`BEGIN`);
        await other.query(`SELECT FROM resources WHERE uuid = $1 FOR UPDATE`, [uuid]);
        others = other
          .query(`SELECT FROM credentials WHERE uuid = $1 FOR UPDATE`, [uuid])
          .then(() => other.query(`COMMIT`));
        others.catch(() => undefined);
      },
    ];
    let tries = 0;
    const deprovision = aDeprovision((run) => (work) => {
      tries += 1;
      return run((tx) => {
        const query: Queryable["query"] = async (...asked) => {
          const rows = await tx.query(...asked);
          await between.shift()?.();
          return rows as never;
        };
        return work({ query });
      });
    });
    await deprovision(uuid);
    await others;
    await other.end();
    expect(between).toEqual([]);
    expect(tries).toBe(1);
    expect(await life.resource(uuid)).toMatchObject({ state: "deprovisioned" });
    expect(await life.credential(uuid)).toMatchObject({ state: "erased" });
  });

  it.each([
    ["a deadlock, which PostgreSQL has undone", "40P01"],
    ["a lock for too long, which PostgreSQL has undone", "55P03"],
    ["a lost connection", "08006"],
  ])("of a deprovisioned resource is answered 410 although its first try met %s", async (_, code) => {
    const uuid = await life.settled();
    expect((await life.platform.deprovision(uuid)).status).toBe(204);
    const failures = [Object.assign(new Error("It failed."), { code, severity: "ERROR" })];
    const deprovision = aDeprovision((run) => (work) => {
      return run((tx) => {
        const query: Queryable["query"] = async (...asked) => {
          const failure = failures.pop();
          if (failure) throw failure;
          return tx.query(...asked);
        };
        return work({ query });
      });
    });
    await expect(deprovision(uuid)).rejects.toMatchObject({ status: 410 });
  });

  it("of a deprovisioned resource is answered 410 although the database was away at first", async () => {
    const uuid = await life.settled();
    expect((await life.platform.deprovision(uuid)).status).toBe(204);
    const failures = [Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })];
    const deprovision = aDeprovision((run) => async (work) => {
      const failure = failures.pop();
      if (failure) throw failure;
      return run(work);
    });
    await expect(deprovision(uuid)).rejects.toMatchObject({ status: 410 });
  });

  it("whose commit is not acknowledged is answered 204 when it is tried again", async () => {
    const uuid = await life.settled();
    let tries = 0;
    const deprovision = aDeprovision((run) => async (work) => {
      const done = await run(work);
      tries += 1;
      if (tries === 1) throw Object.assign(new Error("It is lost."), { code: "08006", severity: "ERROR" });
      return done;
    });
    await deprovision(uuid);
    expect(tries).toBe(2);
    expect((await life.platform.deprovision(uuid)).status).toBe(410);
  });
});
