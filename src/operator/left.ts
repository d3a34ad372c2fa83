import type { Context } from "../context.ts";
import { type Begun, countRefreshesLeft, countRotationsLeft } from "./left-store.ts";
import type { Report } from "./report.ts";
import { counted, duration } from "./wording.ts";
import type { Which } from "./work-through.ts";

/** A part of what is left, in the order in which it is done. `isFinal`: it will not be done any more. */
export interface Stage {
  name: string;
  count: number;
  about?: string;
  isFinal?: boolean;
}

/** What is left of what was asked for, which a running service does. */
export type Left = (
  ctx: Pick<Context, "db">,
  asked: { which: Which; begun: Begun; report: Report },
) => Promise<Stage[]>;

export const rotationsLeft: Left = async ({ db }, { which, begun, report }) => {
  const uuids = which === "all" ? null : which;
  const left = await countRotationsLeft(db, { uuids, eventId: begun.eventId });
  const { nextSeconds: next, lastSeconds: last } = left;
  const at = (seconds: number) => (seconds > 0 ? `in ${duration(seconds)}` : "now");
  const times =
    next === null || last === null ? {} : { about: `the first ${at(next)}, the last ${at(last)}` };
  const failing =
    left.failing > 0 && `${counted(left.failing, "call")} failed; the first error: ${left.lastError}`;
  return [
    { name: "to be made", count: left.toMake, ...(failing && { about: failing }) },
    { name: "to be set", count: left.toSet },
    { name: "to be retired", count: left.toRetire, ...times },
    { name: "refused", count: left.refused, isFinal: true },
    { name: "not asked for", count: report.failed.length, isFinal: true },
  ];
};

/** The command itself refreshes; a running service tries those again that failed. */
export const refreshesLeft: Left = async ({ db }, { begun, report }) => {
  const uuids = report.failed.map(({ uuid }) => uuid);
  const { toRefresh, lost, lastError } = await countRefreshesLeft(db, { uuids, at: begun.at });
  return [
    {
      name: "to be refreshed",
      count: toRefresh,
      ...(lastError !== null && { about: `the first error: ${lastError}` }),
    },
    { name: "given up", count: lost, isFinal: true },
  ];
};
