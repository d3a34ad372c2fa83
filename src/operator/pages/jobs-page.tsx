import type { OpenContext } from "../../context.ts";
import type { Page } from "../../pages/pages.tsx";
import { counted, sentence } from "../wording.ts";
import { endInWords, type ListedJob, runJob, type ShownRun, tookInWords } from "../your-jobs.ts";
import type { Action } from "./action.ts";
import { A, Links, type Look, Moment, Pager, State, Table } from "./parts.tsx";

/** The action that runs a job now, at `/operator/jobs/NAME/run-NAME`. */
export function runsOf({ vendor }: Pick<OpenContext, "vendor">): Action[] {
  return (vendor.jobs ?? []).map(({ name, at, timeZone = "UTC" }) => ({
    name: `run-${name}`,
    label: `Run ${name} now`,
    under: `/jobs/${name}`,
    ask: () => (
      <p>
        The job runs once more, for its last time that has passed ({at} {timeZone}). One process at a time
        runs it: if it runs already, nothing is begun. Its timetable stays as it is.
      </p>
    ),
    work:
      (ctx, _uuid, _form, operator) =>
      async ({ signal }) => {
        const run = await runJob(ctx, name, { signal, by: operator.name, isHere: false });
        return {
          isDone: run.result === "done",
          isInterrupted: run.result === "stopped",
          message: await endInWords(ctx.db, run),
        };
      },
  }));
}

export const pathOfRun = (name: string) => `/jobs/${name}/run-${name}`;

const LOOKS: Readonly<Record<string, Look>> = {
  running: "wait",
  done: "well",
  failed: "bad",
  died: "bad",
  stopped: "wait",
  missed: "gone",
};

export function jobsPage(jobs: readonly ListedJob[]): Page {
  return {
    title: "Jobs",
    content: (
      <>
        <p>
          The jobs of your service, each with its expression and the zone of that. All other times are UTC.
        </p>
        <Table
          columns={[
            ["Job", ({ name }) => <A to={`/jobs/${name}`}>{name}</A>],
            ["When", When],
            ["Next", Next],
            ["Last run", ({ last }) => (last ? <LastRun of={last} /> : "–")],
            ["Failures", Failures],
            [
              "By hand",
              ({ name, isRemoved }) =>
                isRemoved ? "–" : <Links of={[{ label: "Run\u00a0now", path: pathOfRun(name) }]} />,
            ],
          ]}
          rows={jobs}
        />
      </>
    ),
  };
}

function When({ at, timeZone, isRemoved, missed }: ListedJob) {
  return (
    <>
      <code>{at}</code> {timeZone}
      {missed !== null && missed !== "once" && <small> missed: {missed}</small>}
      {isRemoved && <small> removed from the code</small>}
    </>
  );
}

function Next({ next, running, asked }: ListedJob) {
  if (running)
    return (
      <>
        <State of="running" /> {running.since && <Moment at={running.since} />}{" "}
        {running.process && <small>{running.process}</small>}
      </>
    );
  if (asked) return <State of={`asked for by ${asked}`} look="wait" />;
  return next ? <Moment at={next} /> : "–";
}

function LastRun({ of: run }: { of: ShownRun }) {
  return (
    <>
      <Result of={run} /> <Moment at={run.startedAt} />
    </>
  );
}

function Result({ of: run }: { of: ShownRun }) {
  return (
    <>
      <State of={run.result} look={LOOKS[run.result] ?? "gone"} /> <small>{tookInWords(run)}</small>
    </>
  );
}

function Failures({ failures, failingSince, lastError }: ListedJob) {
  if (lastError === null) return "–";
  return (
    <>
      <bdi>{sentence(lastError)}</bdi>{" "}
      <small>
        {counted(failures, "failed run")}
        {failingSince && [" since ", <Moment at={failingSince} />]}
      </small>
    </>
  );
}

/** The last runs of one job. */
export function jobPage(
  job: ListedJob,
  { runs, next }: { runs: readonly ShownRun[]; next: number | null },
  before: string | undefined,
): Page {
  return {
    title: `Job ${job.name}`,
    refresh: job.running || job.asked ? 5 : undefined,
    content: (
      <>
        <p>
          <When {...job} />. Next: <Next {...job} />
        </p>
        {job.lastError !== null && (
          <p>
            <Failures {...job} />
          </p>
        )}
        {!job.isRemoved && <Links of={[{ label: `Run ${job.name} now`, path: pathOfRun(job.name) }]} />}
        <Table
          columns={[
            ["Started", ({ startedAt }) => <Moment at={startedAt} exact />],
            ["For", ({ dueAt }) => <Moment at={dueAt} />],
            ["Result", (run) => <Result of={run} />],
            ["Error", ({ error }) => (error === null ? "–" : <bdi>{error}</bdi>)],
            ["By", ({ by }) => by ?? "timetable"],
            ["In", ({ process }) => process],
          ]}
          rows={runs}
        />
        <Pager
          path={`/jobs/${job.name}`}
          query={{}}
          after={before}
          next={next === null ? null : String(next)}
          label="Older runs"
        />
      </>
    ),
  };
}
