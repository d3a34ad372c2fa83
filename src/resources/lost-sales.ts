import { isDataError, type Database } from "../database/database.ts";
import { messageOf, storable } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import { within } from "../within.ts";
import type { ProvisionRequest } from "./rows.ts";

/** A provision that was answered with an error of ours: the platform takes that as final. */
export type LostSale = Pick<ProvisionRequest, "uuid" | "plan" | "name" | "region"> & {
  requestId: string;
  /** By this process's clock. */
  at: Date;
  reason: string;
};

/** What a long outage may hold in memory. Later ones are in the log alone. */
const MOST_HELD = 10_000;
const STORED_AT_ONCE = 500;
/** How long a process that stops waits for the database. */
const LAST_TRY_MS = 2_000;

export type LostSales = ReturnType<typeof createLostSales>;

/**
 * Keeps the provisions that this process had to refuse, and stores them as soon as the database takes writes: `kit lost`
 * and the operator's overview list them. Those of a process that ends before that are in the log alone.
 */
export function createLostSales({ db, log, pace }: { db: Database; log: Log; pace: Pace }) {
  const held: LostSale[] = [];
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function store(): Promise<void> {
    const { lostSale } = await db.prisma();
    while (held.length > 0) {
      const some = held.slice(0, STORED_AT_ONCE);
      // A try whose acknowledgement was lost has stored them already.
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
            "Lost sales cannot be stored; the log's lines provision_lost name them",
          );
        })
        .finally(() => {
          timer = undefined;
          if (held.length > 0 && !isStopped) storeSoon();
        });
    }, pace.lostAgainMs).unref();
  }

  return {
    /** Takes one, and stores it as soon as that is possible. `error`: what its answer was made of. */
    note({ uuid, plan, name, region }: ProvisionRequest, requestId: string, error: unknown): LostSale {
      const { cause = error } = Object(error) as { cause?: unknown };
      const sale: LostSale = {
        uuid,
        plan: storable(plan),
        name: name && storable(name),
        region: region && storable(region),
        requestId,
        at: new Date(),
        reason: storable(messageOf(cause)),
      };
      if (held.length < MOST_HELD) held.push(sale);
      storeSoon();
      return sale;
    },
    /** Those of this process that the database has not taken yet, the oldest first. */
    held: (): readonly LostSale[] => held,
    /** Tries to store what is held a last time. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      if (held.length === 0) return;
      await within(LAST_TRY_MS, store(), () => new Error("the database does not answer")).catch(
        (error: unknown) =>
          log.warn(
            { count: held.length, reason: messageOf(error) },
            "Lost sales are not stored; the log's lines provision_lost name them",
          ),
      );
    },
  };
}
