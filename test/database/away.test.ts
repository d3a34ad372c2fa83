import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import supertest from "supertest";
import type { Database } from "../../src/database/database.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aFreshDatabase } from "../support/database.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// The database refuses connections, is full, or loses the acknowledgement of a commit, as the service sees it.

let world: World;
/** What replaces the execution of a statement; null: nothing. */
let trouble: ((name: string, execute: () => Promise<unknown[]>) => Promise<unknown[]>) | null = null;

beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: (statement, values) => {
      const execute = () => database.query<never>(statement, values);
      return trouble ? (trouble(statement.name, execute) as Promise<never[]>) : execute();
    },
  });
  world = await aWorld({ parts: { wrapDatabase } });
});
afterAll(() => {
  trouble = null;
  return world.close();
});

const refused = () =>
  Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED" });
const full = () =>
  Object.assign(new Error("could not extend file: No space left on device"), {
    code: "53100",
    severity: "ERROR",
  });

const becomesActive = (uuid: string) =>
  eventually(async () => {
    const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [uuid]);
    expect(row).toEqual({ state: "active" });
  });

describe("POST /resources while the database is away", () => {
  it("waits inside the request for a short outage", async () => {
    const back = performance.now() + 2_000;
    trouble = (_, execute) => (performance.now() < back ? Promise.reject(refused()) : execute());
    const { addon, response } = await world.sandbox.control.install({ plan: "basic" });
    trouble = null;
    expect(response.status).toBe(200);
    await becomesActive(addon.id);
  });

  it("answers 503 with Retry-After during a long outage, and a later delivery succeeds", async () => {
    trouble = () => Promise.reject(refused());
    const { addon, response } = await world.sandbox.control.install({ plan: "basic" });
    trouble = null;
    expect(response).toMatchObject({ status: 503, headers: { "retry-after": expect.any(String) } });
    expect(response.body).toMatchObject({ id: "service_unavailable" });
    expect(await world.rows(`SELECT 1 FROM resources WHERE uuid = $1`, [addon.id])).toEqual([]);
    expect((await world.sandbox.control.redeliver(addon.id, { newCode: true })).response.status).toBe(200);
    await becomesActive(addon.id);
  });

  it.each(["basic", "dedicated"])(
    "provisions the %s once when the acknowledgements of its commits are lost",
    async (plan) => {
      const lost = new Set<string>();
      trouble = async (name, execute) => {
        const rows = await execute();
        if (!["provision", "decide_provision"].includes(name) || lost.has(name)) return rows;
        lost.add(name);
        throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
      };
      const { addon, response } = await world.sandbox.control.install({ plan });
      trouble = null;
      expect(response.status).toBe(plan === "basic" ? 200 : 202);
      expect([...lost]).toContain("provision");
      expect(
        await world.rows(`SELECT count(*)::int AS n FROM resources WHERE uuid = $1`, [addon.id]),
      ).toEqual([{ n: 1 }]);
      await becomesActive(addon.id);
    },
  );
});

describe("POST /resources during the start of the service", () => {
  /** What it is answered, if it comes when the service has looked for its database so often, which is back `backInMs` later. */
  async function answerAfter(
    looks: number,
    backInMs: number,
    { isWritable = true } = {},
  ): Promise<{ status: number; ms: number; counted: unknown }> {
    const fresh = await aFreshDatabase();
    let looked = 0;
    let back = Infinity;
    const wrapDatabase = (database: Database): Database => ({
      ...database,
      query: (statement, values) =>
        isWritable || statement.name !== "provision"
          ? database.query(statement, values)
          : Promise.reject(refused()),
      pendingMigrations: () => {
        looked += 1;
        return performance.now() < back ? Promise.reject(refused()) : database.pendingMigrations();
      },
    });
    const service = await runWeb(teapotConfig({ ...world.environment, ...fresh.environment }), {
      ...teapotParts,
      ...{ wrapDatabase, logTo: { write: () => undefined } },
    });
    await eventually(() => looked >= looks);
    const since = performance.now();
    back = since + backInMs;
    const { status } = await supertest(service.url!)
      .post("/resources")
      .auth(world.environment["ADDON_ID"]!, world.environment["ADDON_PASSWORD"]!)
      .send(aProvisionRequest());
    const ms = performance.now() - since;
    await service.stop();
    await fresh.close();
    const families = service.services.metrics.families();
    const counted = families.find(({ name }) => name === "addon_provisions_total")?.values;
    return { status, ms, counted };
  }

  it("waits for the database as long as a running service does", async () => {
    expect((await answerAfter(1, 6_000)).status).toBe(200);
  }, 30_000);

  it("does not wait that long again when the database goes away once more", async () => {
    const { status, ms } = await answerAfter(1, 6_000, { isWritable: false });
    expect(status).toBe(503);
    expect(ms).toBeLessThan(10_000);
  }, 30_000);

  it("counts the provision as failed after waiting in vain", async () => {
    const { status, counted } = await answerAfter(1, 11_000);
    expect(status).toBe(503);
    expect(counted).toContainEqual({ labels: { result: "failed" }, value: 1 });
  }, 30_000);

  it("answers as soon as the database is back, however long it was away before", async () => {
    const { status, ms } = await answerAfter(6, 50);
    expect(status).toBe(200);
    expect(ms).toBeLessThan(4_000);
  }, 30_000);
});

describe("grant exchange while the database is away", () => {
  it("is not sent while the disk is full, because the mark before it is a write", async () => {
    const since = world.sandbox.control.ledger().next;
    let tries = 0;
    trouble = (name, execute) => {
      if (name !== "mark_sent") return execute();
      tries += 1;
      return Promise.reject(full());
    };
    const { addon } = await world.sandbox.control.install({ plan: "basic" });
    await eventually(() => tries >= 5);
    expect(
      world.sandbox.control.ledger({ since }).entries.filter(({ path }) => path === "/oauth/token"),
    ).toEqual([]);
    trouble = null;
    await becomesActive(addon.id);
  });

  it("keeps the tokens in memory until the database accepts them", async () => {
    const back = performance.now() + 6_000;
    const since = world.sandbox.control.ledger().next;
    trouble = (name, execute) =>
      name === "store_tokens" && performance.now() < back ? Promise.reject(refused()) : execute();
    const { addon } = await world.sandbox.control.install({ plan: "basic" });
    await becomesActive(addon.id);
    trouble = null;
    expect(
      world.sandbox.control.ledger({ since }).entries.filter(({ path }) => path === "/oauth/token"),
    ).toHaveLength(1);
  });
});
