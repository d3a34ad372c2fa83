import { setTimeout as sleep } from "node:timers/promises";
import { KitError, messageOf } from "../../errors.ts";
import type { Log } from "../../logging/log.ts";
import type { Queryable } from "../../database/database.ts";
import { beginAction, followAction } from "../audit.ts";
import type { ActionRequest } from "../store.ts";
import type { How } from "../work-through.ts";

/** How an action ended. The message may be shown. */
interface ActionResult {
  isDone: boolean;
  message: string;
}

/** What an action does. It ends soon after `signal` is aborted; an error that it throws becomes its failure. */
export type ActionWork = (how: How) => Promise<ActionResult>;

export type ActionRunner = ReturnType<typeof createActionRunner>;

/** A request waits this long for its action to end, to show the result at once. */
const PATIENCE_MS = 2_000;

/**
 * Runs the operators' actions: a request begins one, but the action does not end with the request. Each is in the audit
 * trail before its first step, and stores its progress there. `stop` aborts the running actions and waits for them.
 */
export function createActionRunner(needs: { db: Queryable; scrub(text: string): string; log: Log }) {
  const { db, scrub, log } = needs;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  async function perform(id: number, request: ActionRequest, work: ActionWork): Promise<void> {
    const { action, uuid, requestId, operator } = request;
    const about = { operatorAction: action, actionId: id, uuid, requestId, account: operator.account };
    log.info(about, "An operator began an action");
    const { onProgress, end } = followAction(db, id);
    const { isDone, message } = await work({ signal: stopping.signal, onProgress }).catch(
      (error: unknown): ActionResult => {
        if (error instanceof KitError) return { isDone: false, message: messageOf(error) };
        log.error({ ...about, error }, "An operator's action failed");
        return { isDone: false, message: "Something went wrong here. The log knows more." };
      },
    );
    const state = isDone ? "done" : "failed";
    log.info({ ...about, state }, "An operator's action ended");
    await end({ state, message: scrub(message) });
  }

  return {
    /**
     * Begins an action, unless its form was sent before, and waits up to `PATIENCE_MS` for its end. Answers the id of
     * its audit entry.
     */
    async begin(request: ActionRequest, work: ActionWork): Promise<number> {
      const { id, isNew } = await beginAction(db, request);
      if (!isNew) return id;
      const run = perform(id, request, work)
        .catch((error: unknown) =>
          log.warn({ actionId: id, error }, "The outcome of an action could not be recorded"),
        )
        .finally(() => running.delete(run));
      running.add(run);
      await Promise.race([run, sleep(PATIENCE_MS, undefined, { ref: false })]);
      return id;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
