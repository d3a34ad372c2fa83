import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { storable } from "../errors.ts";
import type { Http } from "../platform/call.ts";
import {
  endGone,
  pruneMarks,
  takeForAlarm,
  type Unknown,
  writeDoubt,
  writeGone,
  writeUnknown,
} from "./store.ts";
import { findSuspicion, takeSuspicion, writePlan } from "./suspicion-store.ts";

// Differences between the platform's ledger and ours, noticed as they happen. None of them ends a resource: an operator
// does, after a comparison (operator/reconcile/).

type Needs = Pick<Context, "db" | "log" | "wake">;

/**
 * Something hints that the platform no longer has an add-on: it is asked soon, and believed after several answers
 * (resources/looks.ts). Never rejects.
 */
export async function doubt(ctx: Needs, uuid: string): Promise<void> {
  try {
    if (await writeDoubt(ctx.db, uuid)) ctx.wake.runSteps();
  } catch (error) {
    ctx.log.warn({ uuid, error }, "Whether the platform still has an add-on is asked at the next daily look");
  }
}

const OF_AN_ADDON = /\/addons\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/|$)/;

/**
 * Notices each answer "not found" or "gone" to a call about one of our own add-ons. It may be about a part of the
 * add-on, so it is a doubt and no more.
 */
export function noticingHttp(ctx: Needs, { send, close }: Http): Http {
  return {
    close,
    async send(request) {
      const answer = await send(request);
      if (answer.status === 404 || answer.status === 410) {
        const [, uuid] = OF_AN_ADDON.exec(new URL(request.url).pathname) ?? [];
        if (uuid) await doubt(ctx, uuid);
      }
      return answer;
    },
  };
}

/** The platform does not have the add-on. Its state stays as it is, its refreshes pause. */
export async function noteGone(
  ctx: Pick<Context, "db" | "log" | "wake" | "pace">,
  uuid: string,
): Promise<void> {
  if (!(await writeGone(ctx.db, uuid))) return;
  ctx.log.warn({ uuid }, "The platform no longer has an add-on of ours; its refreshes pause");
  ctx.wake.lookAtApps(ctx.pace.gatherMs);
}

/** The platform has the add-on on this plan, which it names as `service:plan`. */
export const notePlan = ({ db }: Pick<Context, "db">, uuid: string, { name }: { name?: unknown } = {}) =>
  typeof name === "string" ? writePlan(db, uuid, storable(name.replace(/^[^:]*:/, ""))) : undefined;

/** The platform has the add-on. */
export async function noteThere({ db, log }: Pick<Context, "db" | "log">, uuid: string): Promise<void> {
  if (await endGone(db, uuid)) log.warn({ uuid }, "The platform has an add-on again that was gone");
}

/** A plan change or a deprovision came for a uuid that was never provisioned here. Never rejects. */
export async function noteUnknown(
  ctx: Pick<Context, "db" | "log" | "wake" | "pace">,
  unknown: Unknown,
): Promise<void> {
  ctx.log.warn(unknown, "The platform asked about a resource that was never provisioned here");
  try {
    await retryWhileUnreachable(() => writeUnknown(ctx.db, unknown), { upToMs: 2_000 });
    ctx.wake.lookAtApps(ctx.pace.gatherMs);
  } catch (error) {
    // Otherwise nothing is left of it.
    const { uuid, requestId } = unknown;
    ctx.log.error(
      { alarm: "unknown_resource", uuid, requestId, error },
      "An unknown resource could not be stored",
    );
  }
}

const WORDS = {
  gone_at_platform:
    "Add-ons of ours are gone at the platform; their resources stay until an operator ends them: kit reconcile",
  unknown_resource:
    "The platform asked about resources that were never provisioned here; its customers may pay for them: kit reconcile",
} as const;

/**
 * Raises one alarm for all differences of a kind that were noticed together, and one if all together suggest a restore.
 * Drops the marks of those that ended.
 */
export async function reportMarks({ db, log, pace }: Pick<Context, "db" | "log" | "pace">): Promise<void> {
  await pruneMarks(db);
  for (const { kind, count, since, uuids, request } of await takeForAlarm(db, pace.gatherMs / 1_000)) {
    const which = count === 1 ? { uuid: uuids[0] } : { uuids };
    log.error({ alarm: kind, ...which, count, since, ...(request && { request }) }, WORDS[kind]);
  }
  if (await takeSuspicion(db))
    log.error(
      { alarm: "restore_suspected", ...(await findSuspicion(db)) },
      "The platform contradicts several rows of the database in several ways, as after a restore that was not noticed: kit after-restore",
    );
}
