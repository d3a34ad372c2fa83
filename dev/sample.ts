import { setTimeout as sleep } from "node:timers/promises";
import type { AddonState, Control } from "../packages/sandbox/index.ts";
import { type DatabaseSettings, openDatabase } from "../src/database/database.ts";
import { positional } from "../src/database/statement.ts";

/** The customer's app that the sample add-on is installed on. */
const SAMPLE_APP = "shop";

/** The add-on that an earlier run installed and that can still work; null if there is none. */
export function livingAddon(control: Control): AddonState | null {
  const living = control.state().addons.filter(({ state, grant }) => {
    const canWork = grant !== null && grant.state !== "expired" && grant.state !== "invalid";
    return canWork && (state === "provisioned" || state === "provisioning");
  });
  return living[0] ?? null;
}

/**
 * Installs the add-on on an app as a customer would: the platform sends the provision request. Returns the add-on's id.
 */
export async function installSample(control: Control, plan: string): Promise<string> {
  const hasApp = control.state().apps.some(({ name }) => name === SAMPLE_APP);
  if (!hasApp) control.createApp({ name: SAMPLE_APP });
  const { addon } = await control.install({ app: SAMPLE_APP, plan });
  return addon.id;
}

const readSettled = positional(
  "dev_sample_settled",
  `SELECT c.state = 'active' AND c.expires_at > now()
     AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.uuid = c.uuid) AS "isSettled"
   FROM credentials c WHERE c.uuid = $1`,
);

/**
 * Waits until the service has nothing left to do for a resource and holds a valid token, as its database says. False: not
 * within the time.
 */
export async function untilSettled(
  database: Pick<DatabaseSettings, "url" | "ca">,
  uuid: string,
  withinMs: number,
): Promise<boolean> {
  const db = openDatabase({ ...database, poolSize: 1 });
  const until = performance.now() + withinMs;
  try {
    for (;;) {
      const [row] = await db.query<{ isSettled: boolean | null }>(readSettled, [uuid]);
      if (row?.isSettled) return true;
      if (performance.now() > until) return false;
      await sleep(100);
    }
  } finally {
    await db.close();
  }
}
