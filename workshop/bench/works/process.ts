import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "../bench.ts";
import { median } from "../contest.ts";
import { memoryMbOf } from "../proc.ts";
import type { Line, Work } from "./work.ts";

/** Long enough for the first sweeps, with nothing to do. */
const IDLE_MS = 3_000;

/** The settings of docs/go-live.md that bring pages. Without them, the code of pages is not loaded. */
const WITH_PAGES = {
  OPERATOR_PASSWORD: "a-password-of-the-operator-of-the-bench",
  SSO_SALT: "a-salt-of-the-bench-with-more-than-32-characters",
};

/**
 * How soon the web process listens, and how much memory it uses when idle, with the operator's and the customers' pages
 * and without. For the memory under load see end-to-end.ts.
 */
export const processOfWeb: Work = {
  name: "process",
  async measure(bench) {
    const [withPages, without] = [await measureStart(bench, WITH_PAGES), await measureStart(bench, {})];
    return [
      line("start to listening", "s", withPages.seconds, 0.5),
      line("start to listening, without pages", "s", without.seconds),
      line("a command: kit resources list", "s", withPages.commandSeconds, 0.5),
      line("memory, idle", "MB", withPages.idleMb, 85),
      line("memory, idle, without pages", "MB", without.idleMb),
    ];
  },
};

async function measureStart(bench: Bench, more: Record<string, string>) {
  const database = await bench.databases.create();
  await bench.platform.tell({ tokenMs: 0 });
  const settings = bench.settingsFor(database, more);
  const starts: number[] = [];
  for (let start = 0; start < (bench.options.quick ? 3 : 9); start++) {
    const web = await bench.startService("web", settings);
    starts.push(web.startMs / 1_000);
    await web.kill();
  }
  const commands: number[] = [];
  for (let run = 0; run < (bench.options.quick ? 3 : 9); run++) {
    const startedAt = performance.now();
    await bench.runKit("resources list", settings);
    commands.push((performance.now() - startedAt) / 1_000);
  }
  const web = await bench.startService("web", settings);
  await sleep(IDLE_MS);
  const idleMb = memoryMbOf(web.pid);
  await web.kill();
  await database.drop();
  return { seconds: median(starts), commandSeconds: median(commands), idleMb };
}

function line(work: string, unit: string, subject: number, atMost?: number): Line {
  return { work, unit, subject, floor: null, ratio: null, target: atMost === undefined ? {} : { atMost } };
}
