import { setTimeout as wait } from "node:timers/promises";
import { checkProvisions } from "../books.ts";
import { median, measureLoad } from "../contest.ts";
import { memoryMbOf } from "../proc.ts";
import { provisions } from "../provisions.ts";
import type { Line, Work } from "./work.ts";

/** Long enough for the first sweeps, with nothing to do. */
const IDLE_MS = 3_000;

/** How soon the web process listens, and what it keeps in memory: idle, and while it provisions, exchanges and finishes. */
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
    await wait(IDLE_MS);
    const idle = memoryMbOf(web.pid);
    let loaded = idle;
    const watch = setInterval(() => (loaded = Math.max(loaded, memoryMbOf(web.pid))), 100);
    const asked = provisions({ plan: "dedicated", status: 202 });
    await measureLoad(web, asked, { connections: 32, forMs: quick ? 5_000 : 20_000 });
    await wait(IDLE_MS);
    clearInterval(watch);
    await bench.end(web);
    await checkProvisions(database, asked.uuids, 202);
    await database.drop();
    const line = (work: string, unit: string, subject: number, atMost: number): Line => ({
      ...{ work, unit, subject, floor: null, ratio: null, target: { atMost } },
    });
    return [
      line("start to listening", "s", median(starts), 0.6),
      line("memory, idle", "MB", idle, 110),
      line("memory, most under load", "MB", loaded, 200),
    ];
  },
};
