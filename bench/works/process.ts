import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../contest.ts";
import { memoryMbOf } from "../proc.ts";
import type { Line, Work } from "./work.ts";

/** Long enough for the first sweeps, with nothing to do. */
const IDLE_MS = 3_000;

/**
 * How soon the web process listens, and how much memory it uses when idle. For the memory under load see end-to-end.ts.
 */
export const processOfWeb: Work = {
  name: "process",
  async measure(bench) {
    const { quick } = bench.options;
    const database = await bench.databases.create();
    await bench.platform.tell({ tokenMs: 0 });
    const starts: number[] = [];
    for (let start = 0; start < (quick ? 3 : 9); start++) {
      const web = await bench.startService("web", bench.settingsFor(database));
      starts.push(web.startMs / 1_000);
      await web.kill();
    }
    const web = await bench.startService("web", bench.settingsFor(database));
    await sleep(IDLE_MS);
    const idle = memoryMbOf(web.pid);
    await bench.end(web);
    await database.drop();
    const line = (work: string, unit: string, subject: number, atMost: number): Line => ({
      ...{ work, unit, subject, floor: null, ratio: null, target: { atMost } },
    });
    return [line("start to listening", "s", median(starts), 0.6), line("memory, idle", "MB", idle, 110)];
  },
};
