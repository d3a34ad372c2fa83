import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { aProcessWorld, type ProcessWorld } from "../support/process-world.ts";
import { eventually } from "../support/world.ts";

// A process that is frozen during a refresh, considered dead, and continues later.

let life: ProcessWorld;
beforeAll(async () => {
  life = await aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } });
});
afterEach(async () => {
  life.control.clearFaults();
  await life.killAll();
});
afterAll(() => life.world.close());

describe("a worker process that is frozen during a refresh", () => {
  it.each([
    ["before the platform answers", 1_500],
    ["when the platform has answered", 0],
  ])(
    "frozen %s: leaves no dead token after it continues",
    async (_, delayMs) => {
      const web = await life.start("web", { WEB_JOBS: "off" });
      const frozen = await life.start("worker");
      const uuids = await life.install(10);
      await life.become(uuids, 1);
      life.control.fault("POST /oauth/token", { delayMs: delayMs || 300 }, 10);
      const since = life.position();
      await life.makeDue(uuids);
      await eventually(() => life.control.faults().length === 0);
      if (delayMs === 0) await eventually(() => life.issuedSince(since) > 0);
      frozen.signal("SIGSTOP");
      await eventually(() => life.issuedSince(since) === 10);
      await life.world.rows(
        `UPDATE credentials SET leased_until = now() WHERE leased_until IS NOT NULL AND uuid = ANY($1::uuid[])`,
        [uuids],
      );
      await life.start("worker");
      await life.become(uuids, 2);
      frozen.signal("SIGCONT");
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      await eventually(async () => {
        const [row] = await life.world.rows(
          `SELECT count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) AND state = 'active'`,
          [uuids],
        );
        expect(row).toEqual({ count: 10 });
      });
      expect(life.issuedSince(since)).toBeLessThanOrEqual(30);
      web.signal("SIGTERM");
      // Each works: at once, or after one refresh that the first 401 brings about.
      await life.world.restart();
      const before = life.position();
      for (const uuid of uuids)
        expect((await life.world.service.services.platformFor(uuid).addons.own()).id).toBe(uuid);
      expect(life.issuedSince(before)).toBeLessThanOrEqual(uuids.length);
      await life.world.service.stop();
    },
    90_000,
  );
});
