import { setTimeout as sleep } from "node:timers/promises";
import { isDataError, statement, type Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import { EACH } from "../logging/repeats.ts";
import type { ProvisionRequest } from "./rows.ts";

/** So many wait in memory for the database; of further ones only the log knows. */
const MOST_HELD = 1_000;
const AGAIN_MS = 2_000;
const KEPT_DAYS = 30;
/** At most this many are listed, the latest. */
const MOST_LISTED = 1_000;

// By the database's clock, and once however often it is sent. The name of a customer must not stay for ever.
const write = statement(
  "note_lost_provision",
  `INSERT INTO events (uuid, at, type, detail)
   SELECT $1::uuid, now() - make_interval(secs => $2::float8), 'provision_lost', $3::jsonb
   WHERE NOT EXISTS (SELECT 1 FROM events WHERE uuid = $1 AND type = 'provision_lost' AND detail = $3::jsonb)`,
);
const forget = statement(
  "forget_lost_provisions",
  `DELETE FROM events WHERE type = 'provision_lost' AND at < now() - interval '${KEPT_DAYS} days'`,
);
const forgetOne = statement(
  "forget_lost_provision",
  `DELETE FROM events WHERE type = 'provision_lost' AND uuid = $1 RETURNING uuid`,
);
// One whose uuid was provisioned after all, by a later request or by a statement whose answer was lost, is not lost.
const list = statement(
  "list_lost_provisions",
  `SELECT uuid, at, detail FROM (
     SELECT DISTINCT ON (uuid) uuid, at, detail FROM events
     WHERE type = 'provision_lost' AND at > now() - interval '${KEPT_DAYS} days' ORDER BY uuid, at DESC
   ) latest
   WHERE NOT EXISTS (SELECT 1 FROM resources r WHERE r.uuid = latest.uuid) ORDER BY at DESC LIMIT ${MOST_LISTED}`,
);

/** A provision that was answered with an error of ours, and so is lost for good. Never has its grant. */
export interface LostProvision {
  uuid: string;
  plan: string;
  name: string | null;
  /** The id of the request, as the log names it. */
  requestId: string;
  /** ISO 8601, UTC. */
  at: string;
}

/** The lost provisions of the last 30 days, the latest first. */
export async function lostProvisions(db: Queryable): Promise<LostProvision[]> {
  const rows = await db.query<{ uuid: string; at: Date; detail: Omit<LostProvision, "uuid" | "at"> }>(list);
  return rows.map(({ uuid, at, detail: { plan, name, requestId } }) => ({
    ...{ uuid, plan, name, requestId },
    at: at.toISOString(),
  }));
}

/** Deletes what is known of a lost provision. False: nothing is. */
export async function forgetLostProvision(db: Queryable, uuid: string): Promise<boolean> {
  return (await db.query(forgetOne, [uuid])).length > 0;
}

export type LostProvisions = ReturnType<typeof createLostProvisions>;

/** Keeps the lost provisions of this process until the database takes them. */
export function createLostProvisions({ db, log }: { db: Queryable; log: Log }) {
  const held: { uuid: string; detail: object; atMs: number }[] = [];
  const stopping = new AbortController();
  let writing: Promise<void> | null = null;

  async function writeAll(): Promise<void> {
    for (let first; (first = held[0]);) {
      const { uuid, detail, atMs } = first;
      const seconds = (performance.now() - atMs) / 1_000;
      const isDone = await db
        .query(write, [uuid, seconds, JSON.stringify(detail)])
        .then(() => true, isDataError);
      if (isDone) held.shift();
      else if (stopping.signal.aborted) break;
      else await sleep(AGAIN_MS, undefined, { ref: false, signal: stopping.signal }).catch(() => undefined);
    }
    writing = null;
  }

  return {
    /** Logs a provision that is answered with an error of ours, and stores it as soon as the database takes it. */
    note({ uuid, plan, name, requestId }: ProvisionRequest): void {
      const detail = { plan, name, requestId };
      log.error({ [EACH]: true, alarm: "provision_lost", uuid, ...detail }, "A provision is lost");
      if (held.length < MOST_HELD) held.push({ uuid, detail, atMs: performance.now() });
      writing ??= writeAll();
    },
    /** Deletes those of more than 30 days ago. */
    prune: async (): Promise<void> => void (await db.query(forget)),
    /** Tries once more to store what is left. */
    async stop(): Promise<void> {
      stopping.abort();
      await writing;
    },
  };
}
