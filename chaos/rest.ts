import { setTimeout as wait } from "node:timers/promises";
import type { Sandbox } from "../sandbox/index.ts";
import type { Ask } from "./database.ts";
import type { DatabaseProxy } from "../test/support/database-proxy.ts";
import type { Fleet } from "./fleet.ts";

/** The backlog must drain within this time once everything works again (I9), beside the leases of the killed. */
const LONGEST_MS = 150_000;

/**
 * Puts everything right, lets grants that are beyond help reach their end, and waits until nothing is left to do.
 * Answers what is still left when the time is over.
 */
export async function comeToRest(needs: {
  sandbox: Sandbox;
  fleet: Fleet;
  proxy: DatabaseProxy;
  ask: Ask;
}): Promise<string[]> {
  const { sandbox, fleet, proxy, ask } = needs;
  proxy.mode("ok");
  sandbox.control.clearFaults();
  sandbox.control.settings({ acceptDelayMs: 0 });
  for (const member of fleet.members) if (member.isFrozen) fleet.thaw(member);

  const until = Date.now() + LONGEST_MS;
  for (;;) {
    // A code that was exchanged already is refused until its five minutes are over: here it ages at once.
    const exchanged = sandbox.control.state().addons.filter(({ grant }) => grant?.state !== "exchangeable");
    const uuids = exchanged.map(({ id }) => `'${id}'::uuid`).join(", ");
    if (uuids)
      await ask(
        `UPDATE credentials SET grant_deadline = now() - interval '1 second', due_at = least(due_at, now())
         WHERE state = 'grant_pending' AND attempts > 0 AND uuid IN (${uuids})`,
      );
    await ask(
      `UPDATE steps SET due_at = now() WHERE due_at > now() AND attempts > 0 AND leased_until IS NULL`,
    );
    const left = await ask<{ what: string }>(LEFT);
    if (left.length === 0 || Date.now() > until) return left.map(({ what }) => what);
    await wait(500);
  }
}

/**
 * Tokens fall due all the time; what a few sweeps have not taken is left, and so is a token that was put off until it would
 * be dead by the time it is tried. A step without a time waits for tokens: where
 * the grant is lost within the honest limit, until somebody brings a new one.
 */
const LEFT = `
  SELECT 'grant ' || uuid AS what FROM credentials WHERE state = 'grant_pending'
  UNION ALL SELECT 'token ' || uuid || coalesce(': ' || last_error, '') FROM credentials
    WHERE state = 'active' AND (due_at < now() - interval '15 seconds' OR expires_at < now() + interval '2 minutes' OR verify_at IS NOT NULL)
  UNION ALL SELECT 'step ' || kind || ' of ' || uuid || coalesce(': ' || s.last_error, '') FROM steps s
    JOIN credentials c USING (uuid) WHERE s.due_at IS NOT NULL OR c.state = 'active'`;
