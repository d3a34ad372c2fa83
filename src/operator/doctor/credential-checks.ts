import { statement, type Queryable } from "../../database/database.ts";
import { messageOf, Misconfigured } from "../../errors.ts";
import type { Trial } from "../../platform/secret-trial.ts";
import type { OpenContext } from "../../open-context.ts";
import { NEEDING_ATTENTION } from "../../credentials/needing-attention.ts";
import { triedSecret } from "../secret-check.ts";
import { duration } from "../wording.ts";
import { countedToMost, fault, fine, MOST_COUNTED, warning, type Finding } from "./check.ts";

/** By default a sweep runs every 15 seconds (SWEEP_CRON). */
const SWEEPS_LATE_AFTER_SECONDS = 120;

const secretsKnown = statement("count_client_secrets", `SELECT count(*)::int AS known FROM client_secrets`);
const heartbeats = statement(
  "read_heartbeats",
  `SELECT name, extract(epoch FROM now() - at)::float8 AS age FROM heartbeats WHERE name = ANY($1) ORDER BY at`,
);
const countAttention = statement(
  "count_attention",
  `SELECT state, count(*)::int AS count FROM ${NEEDING_ATTENTION} c GROUP BY state ORDER BY state`,
);
// Active credentials without a refresh token: access ends when the current access token expires.
const countUnrefreshable = statement(
  "count_unrefreshable",
  `SELECT count(*)::int AS count, (array_agg(c.uuid::text ORDER BY c.uuid))[1:3] AS some
   FROM (SELECT uuid FROM credentials
     WHERE state = 'active' AND due_at IS NULL AND sealed_refresh_token IS NULL ORDER BY uuid LIMIT ${MOST_COUNTED}) c
   JOIN resources r USING (uuid) WHERE r.state IN ('provisioning', 'provisioned')`,
);

/** Checks the client secret. Asks the platform whether it accepts it, unless `isTried` is false. */
export async function secret(
  { db, config, credentials }: OpenContext,
  { isTried = true } = {},
): Promise<Finding> {
  const setIt = "Run kit secret set, and give it the one that the platform's partner portal shows.";
  const [row] = await db.query<{ known: number }>(secretsKnown);
  if (row?.known === 0) {
    return config.clientSecret
      ? fine("CLIENT_SECRET is set, and is taken over when the service starts.")
      : fault("No client secret is known.", `Set CLIENT_SECRET, or: ${setIt}`);
  }
  try {
    const { version, value, isRejected, isPresumed } = await credentials.secrets.current();
    if (!isRejected && !isTried) return fine(`The client secret is version ${version}.`);
    const trial: Trial =
      isRejected && !isPresumed
        ? { outcome: "rejected" }
        : isTried
          ? await triedSecret(config.platformAuthUrl, value)
          : { outcome: "unclear", because: "it answers 401 and gives no reason" };
    switch (trial.outcome) {
      case "rejected":
        return fault(
          `The platform rejects our client secret (version ${version}): no token can be refreshed.`,
          setIt,
        );
      case "accepted":
        return fine(`The client secret is version ${version}, and the platform accepts it.`);
      case "unclear": {
        const message = `The client secret is version ${version}; whether the platform accepts it cannot be told: ${trial.because}.`;
        if (!isPresumed) return fine(message);
        return warning(`${message} Several tokens are refused in this way.`, `If it was reset: ${setIt}`);
      }
      case "unanswered":
        return warning(
          `The client secret is version ${version}; the platform could not be asked whether it accepts it: ${trial.because}.`,
          "Look again when the platform answers (kit status). Is PLATFORM_AUTH_URL its authorization service?",
        );
    }
  } catch (error) {
    if (error instanceof Misconfigured) throw error;
    return fault(`The client secret cannot be opened: ${messageOf(error)}`, `Mend the keys, or: ${setIt}`);
  }
}

/**
 * Checks that the jobs run. Only the jobs of this build count: no process updates the heartbeat of a job that an older
 * or newer build has under another name.
 */
export async function sweeps({ db, config, jobs }: OpenContext): Promise<Finding> {
  const beats = await db.query<{ name: string; age: number }>(heartbeats, [jobs.names]);
  const start = "Start the web process with WEB_JOBS=on, or a worker beside it.";
  if (beats.length === 0) return fault("No sweep has ever run: nothing is exchanged or refreshed.", start);
  const late = beats.filter(({ age }) => age > SWEEPS_LATE_AFTER_SECONDS);
  if (late.length === 0)
    return fine(`The sweeps last ended, or were first expected, ${Math.round(beats[0]!.age)} s ago or less.`);
  return fault(
    `Late sweeps, last ended or first expected: ${late.map(({ name, age }) => `${name} (${duration(age)} ago)`).join(", ")}.`,
    `${start} Is one running? Its log says what fails. (SWEEP_CRON is "${config.sweepCron}".)`,
  );
}

export async function attention({ db, config }: OpenContext): Promise<Finding> {
  const found = await db.query<{ state: string; count: number }>(countAttention);
  const lacking = await unrefreshable(db);
  const ending = lacking ? [lacking] : [];
  if (found.length + ending.length === 0) return fine("No resource needs attention.");
  const told = [
    ...found.map(({ state, count }) => `${countedToMost(count, "resource")} ${state}`),
    ...ending.map(({ count }) => `${countedToMost(count, "resource")} without a refresh token`),
  ];
  const fixes = [
    ...found.map(({ state }) => `kit resources list --state ${state}`),
    ...ending.flatMap(({ some }) => some.map((uuid) => `kit resources show ${uuid}`)),
  ];
  const message = `${told.join(", ")}.`;
  const isRecoverable = found.some(({ state }) => state === "grant_lost" || state === "no_grant");
  const recover = isRecoverable && config.legacyGrants ? ". Their grants: kit grants recover --all" : "";
  const fix = `See them: ${fixes.join(" · ")}${recover}`;
  const isHarmless = ending.length === 0 && found.every(({ state }) => state === "no_grant");
  return isHarmless ? warning(message, fix) : fault(message, fix);
}

/**
 * The active resources without a refresh token: how many, and the uuids of the first few (`some`). Null if there are
 * none.
 */
export async function unrefreshable(db: Queryable): Promise<{ count: number; some: string[] } | null> {
  const [{ count, some }] = (await db.query(countUnrefreshable)) as [
    { count: number; some: string[] | null },
  ];
  return some && { count, some };
}
