import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "../../packages/sandbox/index.ts";
import type { DatabaseProxy } from "../../test/support/database-proxy.ts";
import type { Ask } from "./database.ts";
import type { Fleet } from "./fleet.ts";

/**
 * The backlog must drain within this time once everything works again (I9); the leases of killed processes expire
 * within it too.
 */
const LONGEST_MS = 150_000;

/**
 * Ends all faults, lets grants that can no longer be exchanged expire, and waits until nothing is left to do. Answers
 * what is still left when the time limit is over.
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

  // Each resource makes a call: a token that a late success has killed is replaced at its first 401 (I3).
  await ask(
    `INSERT INTO steps (uuid, kind, due_at) SELECT uuid, 'discover', now() FROM credentials WHERE state = 'active'`,
  );

  const until = Date.now() + LONGEST_MS;
  for (;;) {
    // A code that was exchanged already would be refused until its five minutes are over: here it expires at once.
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
    await sleep(500);
  }
}

/**
 * Tokens fall due all the time: one is left over only if several sweeps have not taken it, or if it was put off until
 * shortly before it expires. A step without a due time waits for tokens; if the grant was lost within the honest limit
 * it waits until there is a new grant, so it counts only where the credential is active.
 */
const LEFT = `
  SELECT 'grant ' || uuid AS what FROM credentials WHERE state = 'grant_pending'
  UNION ALL SELECT 'token ' || uuid || coalesce(': ' || last_error, '') FROM credentials
    WHERE state = 'active' AND (due_at < now() - interval '15 seconds' OR expires_at < now() + interval '2 minutes')
  UNION ALL SELECT 'step ' || kind || ' of ' || uuid || coalesce(': ' || s.last_error, '') FROM steps s
    JOIN credentials c USING (uuid) WHERE s.due_at IS NOT NULL OR c.state = 'active'
  UNION ALL SELECT 'answer to the provision of ' || uuid FROM resources WHERE state = 'provisioning' AND answer_status IS NULL
  UNION ALL SELECT 'step twice of ' || uuid FROM steps GROUP BY uuid, key HAVING count(*) > 1`;
