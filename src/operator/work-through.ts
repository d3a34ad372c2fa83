import type { Context } from "../context.ts";
import { errorIdOf, messageOf } from "../errors.ts";
import { UnknownResource } from "./errors.ts";
import type { How, Report } from "./report.ts";
import { findResources, type FoundResource } from "./store.ts";

export type { How, Report };
export type Which = readonly string[] | "all";

/**
 * What came of one resource; null: it was done. `isOfAll`: it would be the same for every other resource, so that no
 * further one is begun.
 */
export type End = null | { skipped: string } | { id: string; message: string; isOfAll?: boolean };

/**
 * Does `work` on the first resource, and then on as many at once as TOKEN_CONCURRENCY says. One that throws has failed,
 * and the others go on. Of all resources, those that `isWanted` are taken; named ones always.
 */
export async function forEachResource(
  { db, config }: Pick<Context, "db" | "config">,
  which: Which,
  work: (resource: FoundResource) => Promise<End>,
  { signal, onProgress, isWanted = () => true }: How & { isWanted?(resource: FoundResource): boolean },
): Promise<Report> {
  const uuids = which === "all" ? which : [...new Set(which)];
  const found = await findResources(db, uuids);
  const rows = uuids === "all" ? found.filter(isWanted) : found;
  const report: Report = { done: [], failed: [], skipped: [] };
  let isHalted = false;

  async function worker(queue: Iterable<FoundResource>): Promise<void> {
    for (const row of queue) {
      if (signal.aborted || isHalted) return;
      const end = await work(row).catch(failureOf);
      isHalted ||= end !== null && "isOfAll" in end && end.isOfAll === true;
      note(report, row.uuid, end);
      onProgress?.(ended(report), rows.length);
    }
  }
  onProgress?.(0, rows.length);
  await worker(rows.slice(0, 1));
  // They share one iterator: each takes the next resource when it is free.
  const queue = rows.slice(1).values();
  await Promise.all(Array.from({ length: config.tokenConcurrency }, () => worker(queue)));
  const left = rows.length - ended(report);
  const known = new Set(found.map(({ uuid }) => uuid));
  const unknown = uuids === "all" ? [] : uuids.filter((uuid) => !known.has(uuid));
  for (const uuid of unknown) note(report, uuid, failureOf(new UnknownResource(uuid)));
  return left > 0 ? { ...report, left } : report;
}

const ended = ({ done, failed, skipped }: Report) => done.length + failed.length + skipped.length;
const failureOf = (error: unknown) => ({ id: errorIdOf(error), message: messageOf(error) });

function note(report: Report, uuid: string, end: End): void {
  const { done, failed, skipped } = report;
  if (end === null) done.push(uuid);
  else if ("skipped" in end) skipped.push({ uuid, reason: end.skipped });
  else failed.push({ uuid, id: end.id, message: end.message });
}
