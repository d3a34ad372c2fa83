import { setTimeout as sleep } from "node:timers/promises";
import { statement, retryWhileDatabaseAway, type Queryable } from "../../database/database.ts";
import { messageOf } from "../../errors.ts";
import type { Credentials } from "../../resources/credentials/credentials.ts";

/** What became of a grant: exchanged for tokens, or the reason why not; `gone`: the resource was deprovisioned. */
export type GrantEnd = { is: "exchanged" } | { is: "gone" } | { is: "failed"; id: string; message: string };

/** Waits for grants to be exchanged, by this process or by another. */
export interface Watching {
  ended(uuid: string): Promise<GrantEnd>;
}

interface Row {
  uuid: string;
  state: string;
  reason: string | null;
  lastError: string | null;
}

const LOOK_EVERY_MS = 100;

const read = statement(
  "read_grant_ends",
  `SELECT uuid, state, reason, last_error AS "lastError" FROM credentials WHERE uuid = ANY($1::uuid[])`,
);

/**
 * Reads the state of all awaited grants in one query, and meanwhile exchanges due grants itself, under the same leases
 * as the service: so it works both beside a running service and without one. Every grant ends at its deadline at the
 * latest.
 */
export function createWatching({
  db,
  credentials: { grants, secrets },
  signal,
}: {
  db: Queryable;
  credentials: Pick<Credentials, "grants" | "secrets">;
  signal: AbortSignal;
}): Watching {
  const awaited = new Map<string, (end: GrantEnd) => void>();

  /** Runs `work` in a single loop for as long as any grant is awaited. */
  function whileAwaited(work: () => Promise<unknown>): () => Promise<void> {
    let isRunning = false;
    return async () => {
      if (isRunning) return;
      isRunning = true;
      while (awaited.size > 0) {
        await work();
        await sleep(LOOK_EVERY_MS);
      }
      isRunning = false;
    };
  }

  const watch = whileAwaited(() =>
    look().catch((error: unknown) =>
      endAll({ is: "failed", id: "database_unavailable", message: messageOf(error) }),
    ),
  );
  // An error here is ignored: a running service meets the same one, and it is stored in the row.
  const help = whileAwaited(() => grants.due(signal).catch(() => 0));

  async function look(): Promise<void> {
    const rows = await retryWhileDatabaseAway(() => db.query<Row>(read, [[...awaited.keys()]]));
    for (const row of rows) if (row.state !== "grant_pending") end(row.uuid, endOf(row));
    const { isRejected, isPresumed } = await secrets.current();
    if (isRejected && !isPresumed) endAll(secretRejected);
    if (signal.aborted) endAll(interrupted);
  }

  function end(uuid: string, how: GrantEnd): void {
    awaited.get(uuid)?.(how);
    awaited.delete(uuid);
  }

  function endAll(how: GrantEnd): void {
    for (const uuid of awaited.keys()) end(uuid, how);
  }

  return {
    ended(uuid) {
      const ended = new Promise<GrantEnd>((resolve) => awaited.set(uuid, resolve));
      void watch();
      void help();
      return ended;
    },
  };
}

function endOf({ state, reason, lastError }: Row): GrantEnd {
  if (state === "active") return { is: "exchanged" };
  if (state === "erased") return { is: "gone" };
  const why = [reason, lastError].filter(Boolean).join("; ");
  return {
    is: "failed",
    id: state,
    message: `No tokens came: its credential is ${state}${why && ` (${why})`}.`,
  };
}

const secretRejected: GrantEnd = {
  is: "failed",
  id: "client_secret_rejected",
  message: "The platform rejects our client secret: run kit secret set with the new one, then this again.",
};
const interrupted: GrantEnd = {
  is: "failed",
  id: "interrupted",
  message:
    "Its grant is kept: a running service exchanges it, or the same command again within five minutes.",
};
