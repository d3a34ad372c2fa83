import { moment, momentAway, sentence } from "../wording.ts";
import {
  endInWords,
  jobHistory,
  type ListedJob,
  listJobs,
  runInWords,
  runJob,
  type ShownRun,
  shownRun,
} from "../your-jobs.ts";
import { cursor } from "./actions.ts";
import { DONE, example, FAILED, marked, safe, table } from "./outcome.ts";
import { JSON_LINES, writeLines } from "./pages.ts";
import type { KitCommand } from "./session.ts";

export function addJobs(program: KitCommand): void {
  const group = program
    .command("jobs")
    .summary("the jobs of your service")
    .description("the jobs of your service: when each runs, how its last runs ended, and a run by hand");

  group
    .command("list")
    .description("all jobs: when each is next, and how its last run ended")
    .does(async (session) => {
      const { db, vendor } = await session.openContext(session.settings());
      const jobs = await listJobs(db, vendor.jobs ?? []);
      return { data: { jobs }, show: (paint) => (jobs.length === 0 ? NONE : listText(paint, jobs)) };
    });

  group
    .command("history")
    .argument("<name>", "the job")
    .option("--after <cursor>", 'the next page: the "next" of the one before', cursor)
    .option(...JSON_LINES)
    .description("the last runs of a job, the newest first, 50 at a time")
    .does(
      async (
        session,
        name: string,
        { after = null, jsonLines }: { after?: number | null; jsonLines?: boolean },
      ) => {
        const { db, vendor } = await session.openContext(session.settings());
        const pageAfter = (before: number | null) => jobHistory(db, vendor.jobs ?? [], name, before);
        if (jsonLines)
          return writeLines(session, after ?? Number.MAX_SAFE_INTEGER, async (before) => {
            const { runs: items, next } = await pageAfter(before);
            return { items, next };
          });
        const page = await pageAfter(after);
        const end = page.next === null ? "" : `\n\nFor more, the same command with --after ${page.next}`;
        const rows = page.runs.map(inRow);
        return {
          data: page,
          show: (paint) => (rows.length === 0 ? "It has not run yet." : table(paint, rows) + end),
        };
      },
    );

  group
    .command("run")
    .argument("<name>", "the job")
    .description("run a job now, in this process, and say how it ended")
    .addHelpText(
      "after",
      `
It is claimed as by the timetable, so one process at a time runs it. If it runs
already, the command says since when and in which process, and begins nothing.
Ctrl-C stops the run. If the command is killed, another process repeats the run.
${example("kit jobs run meter")}

Exit code 1: the run failed, or was not begun.`,
    )
    .does(async (session, name: string) => {
      const ctx = await session.context({ changes: true });
      const { signal } = session.how();
      const run = await runJob(ctx, name, { signal, by: session.user(), isHere: true });
      const words = await endInWords(ctx.db, run);
      const isDone = run.result === "done";
      return {
        data: { job: name, ...shownRun(run) },
        message: words,
        exitCode: isDone ? DONE : FAILED,
        show: (paint) => marked(paint, isDone ? words : `✗ ${words}`),
      };
    });
}

const NONE = "Your service has no jobs.";

type Paint = Parameters<typeof table>[0];

function listText(paint: Paint, jobs: readonly ListedJob[]): string {
  const rows = jobs.map(({ name, at, timeZone, next, last, failures, ...job }) => ({
    name,
    when: job.isRemoved ? "removed from the code" : `${at} ${timeZone}`,
    next: job.running?.since ? `runs since ${momentAway(job.running.since)}` : next ? momentAway(next) : "",
    "last run": last ? `${moment(last.startedAt)} ${runInWords(last)}` : "",
    failures: failures > 0 ? String(failures) : "",
  }));
  const troubles = jobs.flatMap(({ name, running, lastError, failingSince, isRemoved }) => [
    ...(running?.process
      ? [`– ${name} runs in ${running.process}${running.by ? `, as ${running.by} asked` : ""}.`]
      : []),
    ...(lastError && !isRemoved
      ? [`✗ ${name} fails${failingSince ? ` since ${momentAway(failingSince)}` : ""}: ${sentence(lastError)}`]
      : []),
  ]);
  return [table(paint, rows), ...troubles.map((line) => marked(paint, line)), "Times of runs are UTC."].join(
    "\n",
  );
}

function inRow({ dueAt, startedAt, by, process, error, ...run }: ShownRun) {
  return {
    started: moment(startedAt),
    for: moment(dueAt),
    ended: runInWords(run),
    by: by ?? "timetable",
    in: process,
    error: error === null ? "" : safe(error),
  };
}
