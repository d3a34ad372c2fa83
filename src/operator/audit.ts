import type { OperatorAction } from "../database/client/client.ts";
import { databaseClock } from "../database/clock.ts";
import type { Database } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import {
  type ActionEnd,
  type ActionRequest,
  type Operator,
  writeAction,
  writeActionAlone,
  writeEnd,
  writeProgress,
} from "./audit-store.ts";

// The audit trail: what operators did, on the command line and on the pages. Times are those of the database's clock.

export type { ActionEnd, ActionRequest, Operator };

export const BY_PASSWORD: Operator = { name: "operator", account: null, address: null };

/**
 * Writes the beginning of an action. `isNew`: this request wrote it, perhaps in an earlier try of which the
 * acknowledgement was lost; false: its form was sent before. `isAlone`: if the same action runs for another form, nothing is
 * written, and the answer is that one, with `isAnother`.
 */
export async function beginAction(
  db: Database,
  request: ActionRequest,
  { isAlone = false } = {},
): Promise<{ id: number; isNew: boolean; isAnother: boolean }> {
  let tries = 0;
  let isNew = false;
  const stored = await retryWhileUnreachable(async () => {
    tries += 1;
    const written = isAlone
      ? await writeActionAlone(db, request, STOPPED_AFTER_MS / 1_000)
      : { ...(await writeAction(db, request)), isAnother: false };
    isNew = written.isNew;
    return written;
  });
  // Who sends a form twice may name both requests alike.
  const isOwn = isNew || (tries > 1 && stored.requestId === request.requestId);
  return { id: stored.id, isNew: isOwn && !stored.isAnother, isAnother: stored.isAnother };
}

const SEEN_EVERY_MS = 1_000;
/** Then its process has ended. */
const STOPPED_AFTER_MS = 30_000;

/** Stores the progress of an action at its beginning and each second, so that any process can show it; and then its end. */
export function followAction(db: Database, id: number) {
  let progress = { done: 0, total: 0 };
  const storeIfPossible = () => void writeProgress(db, id, progress).catch(() => undefined);
  const timer = setInterval(storeIfPossible, SEEN_EVERY_MS).unref();
  return {
    onProgress(done: number, total: number): void {
      const isFirst = progress.total === 0;
      progress = { done, total };
      if (isFirst && total > 0) storeIfPossible();
    },
    async end(ended: ActionEnd): Promise<void> {
      clearInterval(timer);
      await retryWhileUnreachable(() => writeEnd(db, id, { ...progress, ...ended }));
    },
  };
}

export type AuditEntry = ReturnType<typeof entryOf>;

function entryOf({ id, state, operator: name, account, address, ...stored }: OperatorAction, nowMs: number) {
  const { action, uuid, done, total, startedAt, endedAt, seenAt } = stored;
  const isStopped = state === "running" && nowMs - seenAt.getTime() > STOPPED_AFTER_MS;
  return {
    id: Number(id),
    action,
    uuid,
    operator: { name, account, address },
    message: isStopped ? stoppedInWords(done, total) : stored.message,
    done,
    total,
    startedAt,
    endedAt,
    /** running | stopped (its process ended before it did) | done | failed | interrupted */
    state: isStopped ? "stopped" : state,
  };
}

function stoppedInWords(done: number, total: number): string {
  const far = total === 0 ? String(done) : `${done} of ${total}`;
  const how = done + total === 0 ? "How far it came is not known" : `${far} were done, as far as is known`;
  return `Its process ended before it did, or could not store its end. ${how}.`;
}

export async function findAction(db: Database, id: number): Promise<AuditEntry | null> {
  const { operatorAction } = await db.prisma();
  const stored = await operatorAction.findUnique({ where: { id } });
  return stored && entryOf(stored, await databaseClock(db));
}

const ENTRIES_SIZE = 50;

/**
 * A page of the audit trail, of one resource or of all, the newest first; `next`, passed as `before`, gives the following
 * one. Null: there is none.
 */
export async function actionsBefore(db: Database, before: number | null, uuid?: string) {
  const { operatorAction } = await db.prisma();
  const found = await operatorAction.findMany({
    where: { ...(before !== null && { id: { lt: before } }), ...(uuid !== undefined && { uuid }) },
    orderBy: { id: "desc" },
    take: ENTRIES_SIZE + 1,
  });
  const nowMs = await databaseClock(db);
  const entries = found.slice(0, ENTRIES_SIZE).map((stored) => entryOf(stored, nowMs));
  return { entries, next: found.length > ENTRIES_SIZE ? entries.at(-1)!.id : null };
}
