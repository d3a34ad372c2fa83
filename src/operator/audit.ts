import { retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import {
  noteAction,
  noteEnd,
  noteProgress,
  type ActionEnd,
  type ActionRequest,
  type Operator,
} from "./store.ts";
import type { OnProgress } from "./work-through.ts";

export const BY_PASSWORD: Operator = { name: "operator", account: null, address: null };

const SEEN_EVERY_MS = 1_000;

/** Writes the beginning of an action into the audit trail. `isNew` is false if its form was sent before. */
export function beginAction(db: Queryable, request: ActionRequest): Promise<{ id: number; isNew: boolean }> {
  return retryWhileDatabaseAway(() => noteAction(db, request));
}

/** Stores the progress of an action that has begun each second, so that any process can show it; and then its end. */
export function followAction(db: Queryable, id: number) {
  let [done, total] = [0, 0];
  const store = () => void noteProgress(db, id, done, total).catch(() => undefined);
  const timer = setInterval(store, SEEN_EVERY_MS).unref();
  return {
    onProgress: ((now, of) => ([done, total] = [now, of])) satisfies OnProgress,
    async end(ended: ActionEnd): Promise<void> {
      clearInterval(timer);
      await retryWhileDatabaseAway(() => noteEnd(db, id, [done, total], ended));
    },
  };
}
