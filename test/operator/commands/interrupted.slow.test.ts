import { once } from "node:events";
import type { Database } from "../../../src/database/database.ts";
import type { AuditEntry } from "../../../src/operator/audit.ts";
import { kit, kitJson, runningKit, startKit } from "../../support/kit.ts";
import { aWorld, eventually, opened } from "../../support/world.ts";

// How a command ends in the audit trail that a signal, a kill or the loss of its database ended.

const COUNT = 4;
let uuids: string[];
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off", TOKEN_CONCURRENCY: "1" } }));
beforeAll(async () => {
  uuids = await world.installed(COUNT);
});
beforeEach(() => world.forged.nothingIsLeftOf("operator_actions"));
afterEach(() => world.sandbox.control.clearFaults());

/** The first refresh takes less than a second, the others take this long. They come one after the other. */
function slowly(delayMs: number): void {
  world.sandbox.control.fault("POST /oauth/token", { delayMs: 700 }, 1);
  world.sandbox.control.fault("POST /oauth/token", { delayMs }, 100);
}

const row = async () =>
  (await world.rows<{ state: string; done: number; total: number }>(`SELECT * FROM operator_actions`))[0];
const underWay = (least = 1) =>
  eventually(async () => ((await row())?.done ?? 0) >= least && (await row())!.total === COUNT);

async function audit(): Promise<AuditEntry> {
  const { data } = await kitJson<{ entries: AuditEntry[] }>(world.environment, ["audit"]);
  expect(data.entries).toHaveLength(1);
  return data.entries[0]!;
}

/** Long after the last sign of life. */
const later = () => world.forged.actionsAreUnheardOfFor(31);

it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "a command about all that %s ends is interrupted, with what was done and what is left",
  async (signal) => {
    slowly(4_000);
    const command = runningKit(world.environment, ["tokens", "refresh", "--all"]);
    await underWay();
    command.signal(signal);
    expect((await command.ended).code).toBe(1);
    const { state, done, total, message, endedAt } = await audit();
    expect({ state, total, endedAt }).toEqual({
      state: "interrupted",
      total: COUNT,
      endedAt: expect.any(String),
    });
    expect(done).toBeGreaterThan(0);
    const left = COUNT - done;
    expect(message).toBe(
      `Stopped: ${left} resource${left === 1 ? "" : "s"} left. ${done} refreshed, 0 failed, 0 skipped.`,
    );
    expect((await kit(world.environment, ["audit"])).stdout).toMatch(
      / {2}interrupted {2}kit tokens refresh --all\n/,
    );
  },
);

it("one that has nothing to say of what is left is interrupted, too, before its process ends by the signal", async () => {
  await world.forged.tokensExpired(uuids[0]);
  world.sandbox.control.fault("POST /oauth/token", { delayMs: 5_000 }, 1);
  const child = startKit(world.environment, ["config", "get", uuids[0]!, "--reveal"]);
  const ended = once(child, "close");
  await eventually(
    async () => (await world.rows(`SELECT 1 FROM credentials WHERE sent_at IS NOT NULL`)).length > 0,
  );
  child.kill("SIGTERM");
  expect(await ended).toEqual([null, "SIGTERM"]);
  expect(await audit()).toMatchObject({ state: "interrupted", message: "It was ended by SIGTERM." });
});

it("one that was killed is stopped, with how far it came", async () => {
  slowly(60_000);
  const child = startKit(world.environment, ["tokens", "refresh", "--all"]);
  const ended = once(child, "close");
  await eventually(async () => (await row())?.total === COUNT);
  expect((await kit(world.environment, ["audit"])).stdout).toMatch(/running \d of 4 {2}kit tokens/);
  await underWay();
  child.kill("SIGKILL");
  await ended;
  const { done } = (await row())!;
  await later();
  const message = `Its process ended before it did, or could not store its end. ${done} of ${COUNT} were done, as far as is known.`;
  expect(await audit()).toMatchObject({ state: "stopped", message, done, total: COUNT });
});

it("one whose database is lost at the end says so, does not fail for it, and is stopped in the trail", async () => {
  const error = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const wrapDatabase = (db: Database): Database => ({
    ...db,
    query: (asked, ...values) =>
      ["store_action_progress", "end_action"].includes(asked.name)
        ? Promise.reject(error)
        : db.query(asked, ...values),
  });
  const command = runningKit(world.environment, ["tokens", "refresh", uuids[0]!], { wrapDatabase });
  const { code, stdout, stderr } = await command.ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: "1 refreshed, 0 failed, 0 skipped.\n" });
  expect(stderr).toContain("! Its end is not in the audit trail");
  await later();
  const message = expect.stringContaining("How far it came is not known.");
  expect(await audit()).toMatchObject({ state: "stopped", message });
});
