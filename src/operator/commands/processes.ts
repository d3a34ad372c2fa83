import { PACE } from "../../pace.ts";
import { lateAfterSeconds, listProcesses, type Process } from "../../processes/store.ts";
import { counted, duration, moment } from "../wording.ts";
import type { Paint } from "./host.ts";
import { safe, table } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

export function addProcesses(program: KitCommand): void {
  program
    .command("processes")
    .summary("the web processes and workers")
    .description("the web processes and workers: those that run, and those that ended within a day")
    .does(async (session) => {
      const all = await listProcesses(await session.database(), lateAfterSeconds(PACE));
      return { data: { processes: all.map(shownOf) }, show: (paint) => processesText(paint, all) };
    });
}

/** As a document shows it: moments, and no durations, which are old when they are read. */
function shownOf({ beatSeconds: _beat, startSeconds: _start, lastRefusedWrite, ...process }: Process) {
  if (!lastRefusedWrite) return { ...process, lastRefusedWrite };
  const { at, since, state, reason } = lastRefusedWrite;
  return { ...process, lastRefusedWrite: { at, since, state, reason } };
}

function processesText(paint: Paint, all: readonly Process[]): string {
  if (all.length === 0) return "No process has been started on this database yet.";
  const rows = all.map((one) => ({
    state: one.state,
    role: one.role,
    "host:pid": `${one.host}:${one.pid}`,
    version: one.version,
    commit: one.commit.slice(0, 12),
    node: one.node,
    key: one.keyId ?? "",
    started: moment(one.startedAt),
    "last heartbeat": `${duration(one.beatSeconds)} ago`,
    why: one.why ?? "",
  }));
  const refused = all.flatMap(({ role, host, pid, lastRefusedWrite: last }) =>
    last
      ? [
          `${paint.yellow("!")} ${safe(`${role} ${host}:${pid}: the database refused a write at ${moment(last.at)}: ${last.state}, ${last.reason}`)}`,
        ]
      : [],
  );
  const running = all.filter(({ state }) => state === "ready").length;
  return [
    table(paint, rows),
    ...refused,
    `${running} of ${counted(all.length, "row")} ready. Times are UTC.`,
  ].join("\n");
}
