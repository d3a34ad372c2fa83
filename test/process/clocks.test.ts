import { setTimeout as sleep } from "node:timers/promises";
import { aProcessWorld, before } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// A process that stands still, or whose clock is wrong.

const life = opened(() => aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
afterEach(() => life.killAll());

describe("time and clocks", () => {
  it("a vendor's function that blocks the event loop loses nothing", async () => {
    const block = `process.on("SIGUSR2", () => { for (const end = Date.now() + 2_500; Date.now() < end; ); });`;
    const web = await life.start("web", before(block));
    const known = await life.install(5);
    await life.become(known, 1);
    const since = life.position();
    const uuids = await life.install(5);
    web.signal("SIGUSR2");
    await life.become(uuids, 1);
    await life.makeDue(known).catch(() => life.makeDue(known));
    await life.become(known, 2);
    expect(life.issuedSince(since)).toBe(10);
    expect(web.output()).toMatch(/"alarm":"event_loop_blocked","ms":\d{4}/);
    for (const line of web.output().trim().split("\n")) expect(JSON.parse(line)).toEqual(expect.any(Object));
  });

  it("a wrong clock, set back an hour and ahead two, does not change what is due", async () => {
    const clock = `
      const Real = Date; const jumps = [-3_600_000, 7_200_000]; let off = 600_000;
      globalThis.Date = class extends Real {
        constructor(...given) { given.length ? super(...given) : super(Real.now() + off); }
        static now() { return Real.now() + off; }
      };
      process.on("SIGUSR2", () => { off += jumps.shift(); console.log(JSON.stringify({ msg: "Jumped to " + off })); });`;
    const web = await life.start("web", before(clock));
    const known = await life.install(3);
    await life.become(known, 1);
    for (const [generation, jumped] of [
      [2, "Jumped to -3000000"],
      [3, "Jumped to 4200000"],
    ] as const) {
      web.signal("SIGUSR2");
      await eventually(() => expect(web.output()).toContain(jumped));
      const since = life.position();
      await life.become(await life.install(3), 1);
      // A sweep comes each second.
      await sleep(1_200);
      // Nothing else has become due.
      expect(life.issuedSince(since)).toBe(3);
      await life.makeDue(known);
      await life.become(known, generation);
      expect(life.issuedSince(since)).toBe(6);
    }
  }, 150_000);
});
