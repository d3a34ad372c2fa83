import { isDataError, retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import { EACH } from "../logging/repeats.ts";
import { noteLostProvision } from "./end-store.ts";
import type { LostProvisions } from "./rows.ts";

/** So many wait in memory for the database; of further ones only the log knows. */
const MOST_HELD = 1_000;
const LONGEST_OUTAGE_MS = 7 * 24 * 3_600_000;

/** They are written one after the other. */
export function createLostProvisions({ db, log }: { db: Queryable; log: Log }): LostProvisions {
  let held = 0;
  let isStopping = false;
  let isOver = false;
  let last: Promise<void> = Promise.resolve();

  return {
    note({ uuid, plan, name, requestId }) {
      const detail = { plan, name, requestId };
      log.error({ [EACH]: true, alarm: "provision_lost", uuid, ...detail }, "A provision is lost");
      if (held >= MOST_HELD) return;
      held += 1;
      const atMs = performance.now();
      const write = () => noteLostProvision(db, uuid, (performance.now() - atMs) / 1_000, detail);
      const isCurable = (error: unknown) => !isStopping && !isDataError(error);
      last = last
        .then(async () => {
          if (!isOver) await retryWhileDatabaseAway(write, { upToMs: LONGEST_OUTAGE_MS, isCurable });
        })
        .catch(() => void (isOver = isStopping))
        .finally(() => void (held -= 1));
    },
    async stop() {
      isStopping = true;
      await last;
    },
  };
}
