import type { Database } from "../database/database.ts";
import { isDataError } from "../database/retry.ts";
import { messageOf, storable } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import { within } from "../within.ts";
import type { ProvisionRequest } from "./rows.ts";

/** A provision that this service answered with an error (5xx). The platform takes that answer as final. */
export type LostSale = Pick<ProvisionRequest, "uuid" | "plan" | "name" | "region"> & {
  requestId: string;
  /** By this process's clock. */
  at: Date;
  reason: string;
  /** The caller still waited for the answer. */
  isHeard: boolean;
};

/** How many lost sales are held in memory during an outage. Later ones are in the log only. */
const MOST_HELD = 10_000;
const STORED_AT_ONCE = 500;
/** How long a stopping process waits for the database. */
const LAST_TRY_MS = 2_000;

export type LostSales = ReturnType<typeof createLostSales>;

/**
 * Holds the lost sales of this process and stores them as soon as the database takes writes. `kit lost` and the
 * operator's overview list them. If the process ends before they are stored, they are in the log only.
 */
export function createLostSales({ db, log, pace }: { db: Database; log: Log; pace: Pace }) {
  const held: LostSale[] = [];
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function store(): Promise<void> {
    const { lostSale } = await db.prisma();
    while (held.length > 0) {
      const some = held.slice(0, STORED_AT_ONCE);
      // Duplicates: an earlier attempt may have been committed without an acknowledgement.
      await lostSale.createMany({ data: some, skipDuplicates: true });
      held.splice(0, some.length);
    }
  }

  function storeSoon(): void {
    timer ??= setTimeout(() => {
      void store()
        .catch((error: unknown) => {
          if (!isDataError(error)) return;
          const lost = held.splice(0, STORED_AT_ONCE).length;
          log.error(
            { error, count: lost },
            "The database rejects these lost sales; they are dropped. The log lines with alarm provision_lost name them",
          );
        })
        .finally(() => {
          timer = undefined;
          if (held.length > 0 && !isStopped) storeSoon();
        });
    }, pace.lostAgainMs).unref();
  }

  return {
    /** Holds a lost sale until it is stored. `error`: what made the request fail. */
    note(
      { uuid, plan, name, region }: ProvisionRequest,
      requestId: string,
      { error, isHeard }: { error: unknown; isHeard: boolean },
    ): LostSale {
      const { cause = error } = Object(error) as { cause?: unknown };
      const sale: LostSale = {
        uuid,
        plan: storable(plan),
        name: name && storable(name),
        region: region && storable(region),
        requestId,
        at: new Date(),
        reason: storable(messageOf(cause)),
        isHeard,
      };
      if (held.length < MOST_HELD) held.push(sale);
      storeSoon();
      return sale;
    },
    /** The lost sales of this process that are not stored yet, the oldest first. */
    held: (): readonly LostSale[] => held,
    /** Tries a last time to store the held sales. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      if (held.length === 0) return;
      await within(LAST_TRY_MS, store(), () => new Error("the database does not answer")).catch(
        (error: unknown) =>
          log.warn(
            { count: held.length, reason: messageOf(error) },
            "The process stops before its lost sales are stored. The log lines with alarm provision_lost name them",
          ),
      );
    },
  };
}
