import type { State } from "../../src/credentials/states.ts";
import type { Heartbeat, Resource, Step, YourJob } from "../../src/database/client/client.ts";
import { type Checked, type Queryable, statement, type ValuesOf } from "../../src/database/statement.ts";
import { eventually } from "./eventually.ts";

// States of the kit's own rows that a test cannot wait for: hours that have passed, a process that died at a certain
// moment, an answer of the platform long ago. Each state has a name here, and a sentence that says what could have led
// to it. A test writes SQL to these tables only if the table is its subject, or if it needs thousands of rows.

type Uuids = string | readonly string[] | null;
/** All rows: the default of the functions here. */
export const ALL = null;
const EACH = "ARRAY(SELECT uuid FROM resources UNION SELECT uuid FROM credentials)" as const;
const OF = `uuid = ANY(coalesce(:uuids::uuid[], ${EACH}))` as const;
const IN = `now() + make_interval(secs => :inSeconds)` as const;
const SINCE = `now() - make_interval(secs => :sinceSeconds)` as const;

interface Which {
  uuids: readonly string[] | null;
}
interface When extends Which {
  inSeconds: number | null;
}

const which = (uuids: Uuids): Which => ({ uuids: typeof uuids === "string" ? [uuids] : uuids });

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Runs a statement of this file. It has no name, so PostgreSQL does not keep it for the connection. */
const runOn =
  (db: Queryable) =>
  <Values extends object, const Text extends string>(
    text: Checked<Text, Values>,
    ...values: ValuesOf<Values>
  ): Promise<unknown[]> =>
    db.query(statement<Values>("").sql(text), ...values);

/** What a test makes of the rows of this database. */
export function forged({ db }: { db: Queryable }) {
  return {
    ...leftovers(db),
    ...grants(db),
    ...tokens(db),
    ...clientSecret(db),
    ...steps(db),
    ...resources(db),
    ...jobs(db),
    ...people(db),
    ...database(db),
  };
}

type Table =
  | ("credentials" | "customer_sessions" | "events" | "heartbeats" | "ledger_marks" | "lost_sales" | "people")
  | ("ledger_comparisons" | "ledger_findings")
  | ("operator_actions" | "processes" | "resources" | "sessions" | "steps" | "used_sign_ons" | "your_jobs")
  | "your_job_runs";

function leftovers(db: Queryable) {
  return {
    /** Deletes what the test before has left, so that the next one finds an empty table. */
    async nothingIsLeftOf(...tables: Table[]) {
      for (const table of tables)
        await db.query(statement(`forged_nothing_of_${table}`).sql<string>(`DELETE FROM ${table}`));
    },
  };
}

function grants(db: Queryable) {
  const run = runOn(db);
  return {
    /** A provision has stored a code that is valid for so many seconds more; its exchange is due in `inSeconds`. */
    grantIsPending: (uuids: Uuids = ALL, { leftSeconds = MINUTE, inSeconds = 0 } = {}) =>
      run(
        `UPDATE credentials SET state = 'grant_pending', due_at = ${IN}, leased_until = NULL, sent_at = NULL,
          grant_deadline = now() + make_interval(secs => :leftSeconds) WHERE ${OF}`,
        { ...which(uuids), leftSeconds, inSeconds },
      ),
    /** A code is valid for so many seconds more, and its exchange is due now. */
    grantHasLeft: (uuids: Uuids, leftSeconds: number) =>
      run(
        `UPDATE credentials SET due_at = now(), grant_deadline = now() + make_interval(secs => :leftSeconds)
          WHERE ${OF}`,
        { ...which(uuids), leftSeconds },
      ),
    /** The five minutes of a code have passed; with `isFree`, so has the lease of the process that tried it. */
    grantIsOver: (uuids: Uuids, { isFree = false } = {}) =>
      run(
        `UPDATE credentials SET grant_deadline = now() - interval '1 second', due_at = now() - interval '1 second',
          leased_until = CASE WHEN NOT :isFree THEN leased_until END WHERE ${OF}`,
        { ...which(uuids), isFree },
      ),
    /** The pause before a code's next try has passed. Returns in which second of the code's life that try is. */
    grantIsAtItsNextTry: (uuid: string) =>
      db.query(
        statement<{ uuid: string }, { state: State; reason: string | null; second: number }>(
          "forged_grant_at_next_try",
        ).sql(
          `UPDATE credentials SET due_at = now(), grant_deadline = grant_deadline - greatest(due_at - now(), interval '0')
            WHERE uuid = :uuid::uuid RETURNING state, reason,
              extract(epoch FROM now() + interval '305 seconds' - grant_deadline)::float8 AS second`,
        ),
        { uuid },
      ),
    /** The codes that are being exchanged were received so much earlier. */
    grantsAreOlderBy: (seconds: number) =>
      run(
        `UPDATE credentials SET grant_deadline = grant_deadline - make_interval(secs => :seconds)
          WHERE leased_until > now()`,
        { seconds },
      ),
    /** A code was exchanged between two steps of the test. */
    grantIsExchanged: (uuids: Uuids = ALL) =>
      run(
        `UPDATE credentials SET state = 'active', grant_deadline = NULL, leased_until = NULL WHERE ${OF}`,
        which(uuids),
      ),
    /** A code was not exchanged within its five minutes, or the answer to its exchange was lost. */
    grantWasLost: (uuids: Uuids = ALL, reason: "expired" | "outcome_unknown" = "expired") =>
      run(`UPDATE credentials SET state = 'grant_lost', reason = :reason, due_at = NULL WHERE ${OF}`, {
        ...which(uuids),
        reason,
      }),
    /** Many provisions have stored codes at the same moment, whose exchanges are not due yet. */
    manyGrantsAreStored: (count: number) =>
      run(
        `INSERT INTO credentials (uuid, state, grant_deadline)
          SELECT md5(i::text)::uuid, 'grant_pending', now() + interval '5 minutes' FROM generate_series(1, :count::int) i`,
        { count },
      ),
    /** Deletes those codes. */
    storedGrantsAreGone: () =>
      run(`DELETE FROM credentials WHERE due_at IS NULL AND state = 'grant_pending'`),
    /** Another process has claimed every code just before this process calls. */
    grantsAreTakenByAnother: () =>
      run(`UPDATE credentials SET lease = lease + 1, leased_until = now() + interval '1 hour'
        WHERE state = 'grant_pending'`),
  };
}

type Sealed = "sealed_access_token" | "sealed_refresh_token" | "sealed_grant_code";

function tokens(db: Queryable) {
  const run = runOn(db);
  return {
    /** Hours have passed, so that the next call to the token endpoint is due. */
    tokensFellDue: (uuids: Uuids = ALL) =>
      run(`UPDATE credentials SET due_at = now() WHERE ${OF}`, which(uuids)),
    /** The tokens were stored a while ago, and their refresh is due in so many seconds; `null` if it is never due. */
    tokensAreDueIn: (uuids: Uuids, inSeconds: number | null) =>
      run(`UPDATE credentials SET due_at = ${IN} WHERE ${OF}`, { ...which(uuids), inSeconds }),
    /** The access tokens have expired. */
    tokensExpired: (uuids: Uuids = ALL) =>
      run(`UPDATE credentials SET expires_at = now() WHERE ${OF}`, which(uuids)),
    /** The tokens were issued so long ago. */
    tokensAreFrom: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE credentials SET issued_at = ${SINCE} WHERE ${OF}`, { ...which(uuids), sinceSeconds }),
    /** So much time has passed for these tokens, and for no others. */
    tokensAged: (uuids: Uuids, interval: string) =>
      run(
        `UPDATE credentials SET due_at = due_at - :interval::interval,
          issued_at = issued_at - :interval::interval,
          expires_at = expires_at - :interval::interval,
          rejected_at = rejected_at - :interval::interval WHERE ${OF}`,
        { ...which(uuids), interval },
      ),
    /** So many refreshes of these tokens have failed. */
    tokensWereTried: (uuids: Uuids, attempts: number, lastError: string | null = null) =>
      run(
        `UPDATE credentials SET attempts = :attempts, last_error = coalesce(:lastError, last_error) WHERE ${OF}`,
        { ...which(uuids), attempts, lastError },
      ),
    /** The access tokens expire in so many seconds. */
    tokensExpireIn: (uuids: Uuids, inSeconds: number) =>
      run(`UPDATE credentials SET expires_at = ${IN} WHERE ${OF}`, { ...which(uuids), inSeconds }),
    /** All active tokens were issued so long ago. */
    activeTokensAreFrom: (sinceSeconds: number) =>
      run(`UPDATE credentials SET issued_at = ${SINCE} WHERE state = 'active'`, { sinceSeconds }),
    /** The refresh of all active tokens has been due for so long, because no process runs. */
    activeTokensAreLateBy: (sinceSeconds: number) =>
      run(`UPDATE credentials SET due_at = ${SINCE} WHERE state = 'active'`, { sinceSeconds }),
    /** The pauses between failed tries were so much longer. */
    tokensArePutOff: (uuids: Uuids, interval: string) =>
      run(`UPDATE credentials SET due_at = due_at + :interval::interval WHERE ${OF}`, {
        ...which(uuids),
        interval,
      }),
    /** An operator backs the table of credentials up. Returns a function that restores it. */
    async credentialsAreBackedUp() {
      await run(`CREATE TABLE backup AS TABLE credentials`);
      return async () => {
        await leftovers(db).nothingIsLeftOf("credentials");
        await run(`INSERT INTO credentials SELECT * FROM backup`);
      };
    },
    /** A test is about to change states and times. Returns a function that undoes it, but keeps newer tokens. */
    async statesAreNoted() {
      await run(`CREATE TABLE as_it_was AS TABLE credentials`);
      return async () => {
        await leftovers(db).nothingIsLeftOf("steps");
        await run(`UPDATE credentials c SET state = w.state, due_at = w.due_at, expires_at = w.expires_at,
          attempts = w.attempts, last_error = w.last_error, rejected_at = w.rejected_at,
          grant_deadline = w.grant_deadline, leased_until = w.leased_until,
          sealed_refresh_token = w.sealed_refresh_token FROM as_it_was w WHERE c.uuid = w.uuid`);
      };
    },
    /** The platform refused the refresh token three times over a day. */
    refreshIsGivenUp: (uuids: Uuids) =>
      run(
        `UPDATE credentials SET state = 'needs_reauth', reason = 'refresh_token_rejected', attempts = 3,
          rejected_at = now() - interval '1 day', due_at = now() + interval '20 hours' WHERE ${OF}`,
        which(uuids),
      ),
    /** The platform refused the refresh token first so long ago, and three tries in all; the fourth is due. */
    tokensAreRefusedSince: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE credentials SET rejected_at = ${SINCE}, attempts = 3, due_at = now() WHERE ${OF}`, {
        ...which(uuids),
        sinceSeconds,
      }),
    /** The platform has just refused the code or the refresh token; with `false`, that refusal is cleared. */
    isRefused: (uuids: Uuids, isRefused = true) =>
      run(`UPDATE credentials SET rejected_at = CASE WHEN :isRefused THEN now() END WHERE ${OF}`, {
        ...which(uuids),
        isRefused,
      }),
    /** A credential came to this state by the platform or by an operator, and no call for it is due. */
    tokensAre: (state: State, uuids: Uuids = ALL) =>
      run(`UPDATE credentials SET state = :state, due_at = NULL WHERE ${OF}`, { ...which(uuids), state }),
    /** The token endpoint issued no refresh token, so that no refresh is due. */
    refreshTokenIsMissing: (uuids: Uuids) =>
      run(`UPDATE credentials SET sealed_refresh_token = NULL, due_at = NULL WHERE ${OF}`, which(uuids)),
    /** A person with write access to the database has copied the access token of another resource here. */
    accessTokenIsThatOf: (uuid: string, other: string) =>
      run(
        `UPDATE credentials SET sealed_access_token =
          (SELECT sealed_access_token FROM credentials WHERE uuid = :other::uuid) WHERE uuid = :uuid::uuid`,
        { uuid, other },
      ),
    /** Another process, perhaps one with other keys, has stored this access token. */
    accessTokenIs: (uuid: string, sealed: Uint8Array) =>
      run(`UPDATE credentials SET sealed_access_token = :sealed::bytea WHERE uuid = :uuid::uuid`, {
        uuid,
        sealed,
      }),
    /** Another process, perhaps one with other keys, has stored this refresh token. */
    refreshTokenIs: (uuid: string, sealed: Uint8Array) =>
      run(`UPDATE credentials SET sealed_refresh_token = :sealed::bytea WHERE uuid = :uuid::uuid`, {
        uuid,
        sealed,
      }),
    /** A disk has flipped one bit of a sealed value; the second call flips it back. */
    bitIsFlipped: (uuid: string, column: Sealed, at = 60) =>
      db.query(
        statement<{ uuid: string; at: number }>(`forged_bit_of_${column}`).sql(
          `UPDATE credentials SET ${column} = set_byte(${column}, :at, get_byte(${column}, :at) # 1)
            WHERE uuid = :uuid::uuid`,
        ),
        { uuid, at },
      ),
    /** The tokens were issued for an older client secret. */
    tokensAreOfSecret: (secretVersion: number, uuids: Uuids = ALL) =>
      run(`UPDATE credentials SET secret_version = :secretVersion WHERE ${OF}`, {
        ...which(uuids),
        secretVersion,
      }),
    /** Another process claims the tokens. Returns the lease of that process. */
    tokensAreTakenByAnother: (uuids: Uuids, inSeconds = 45) =>
      db.query(
        statement<When, { lease: number; generation: number }>("forged_tokens_taken").sql(
          `UPDATE credentials SET lease = lease + 1, leased_until = ${IN} WHERE ${OF} RETURNING lease, generation`,
        ),
        { ...which(uuids), inSeconds },
      ),
    /** Another process has claimed the tokens and stored a newer pair. */
    aNewerPairIsStoredByAnother: (uuids: Uuids) =>
      run(
        `UPDATE credentials SET lease = lease + 1, generation = generation + 1, leased_until = NULL,
          due_at = now() + interval '1 hour' WHERE ${OF}`,
        which(uuids),
      ),
    /** Another process has claimed the tokens and stored the outcome of its call. */
    tokensAreDoneByAnother: (uuids: Uuids) =>
      run(
        `UPDATE credentials SET lease = lease + 1, leased_until = NULL, sent_at = NULL,
          due_at = now() + interval '1 hour' WHERE ${OF}`,
        which(uuids),
      ),
    /** The process that holds the tokens died or froze, and the 45 seconds of its lease have passed. */
    tokenLeaseIsOver: (uuids: Uuids = ALL) =>
      run(`UPDATE credentials SET leased_until = now() WHERE leased_until > now() AND ${OF}`, which(uuids)),
    /** The process that held the tokens has released them. */
    tokenLeaseIsGivenBack: (uuids: Uuids = ALL) =>
      run(`UPDATE credentials SET leased_until = NULL WHERE ${OF}`, which(uuids)),
  };
}

function clientSecret(db: Queryable) {
  const run = runOn(db);
  return {
    /** The platform rejects the newest client secret; one process may try it again after so many seconds. */
    secretIsRejected: (inSeconds = 0) =>
      run(
        `UPDATE client_secrets SET rejected_at = now(), probe_at = ${IN}
          WHERE version = (SELECT max(version) FROM client_secrets)`,
        { inSeconds },
      ),
    /** The platform accepts the client secret again. */
    secretIsAccepted: () => run(`UPDATE client_secrets SET rejected_at = NULL, probe_at = NULL`),
    /** The pause after a rejection of the client secret is over. */
    secretMayBeTried: () => run(`UPDATE client_secrets SET probe_at = now()`),
    /** The process that stored the client secret died before it made the tokens of the older one due. */
    secretIsNotSpread: () => run(`UPDATE client_secrets SET spread_at = NULL`),
    /** A disk has flipped one bit of each client secret; the second call flips it back. */
    secretsBitIsFlipped: (at: number) =>
      run(
        `UPDATE client_secrets SET sealed_secret = set_byte(sealed_secret, :at, get_byte(sealed_secret, :at) # 1)`,
        { at },
      ),
    /** A process with another key has stored this client secret. */
    secretIs: (values: { version: number; sealed: Uint8Array; hash: Uint8Array }) =>
      run(
        `UPDATE client_secrets SET sealed_secret = :sealed::bytea, hash = :hash::bytea WHERE version = :version`,
        values,
      ),
    /** A process had this encryption key once. */
    keyWasUsed: (keyId: string) => run(`INSERT INTO sealing_keys (key_id) VALUES (:keyId)`, { keyId }),
    /** No row was ever sealed with this encryption key. */
    keyWasNeverUsed: (keyId: string) => run(`DELETE FROM sealing_keys WHERE key_id = :keyId`, { keyId }),
    /** The client secrets were stored so much earlier. */
    secretsAged: (seconds: number) =>
      run(
        `UPDATE client_secrets SET created_at = created_at - make_interval(secs => :seconds),
          spread_at = spread_at - make_interval(secs => :seconds)`,
        { seconds },
      ),
    /**
     * Only so many token pairs are stored, with uuids that count from 1, due one after the other, and a newer client secret
     * than theirs: it issued none but the first `newer` of them.
     */
    async manyPairsAreOfAnOlderSecret(count: number, newer = 0) {
      await run(`TRUNCATE credentials, client_secrets`);
      await run(
        `INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, due_at, secret_version)
          SELECT md5(i::text)::uuid, 'active', '\\x01', '\\x01', now() + interval '4 hours' + i * interval '1 ms',
            CASE WHEN i <= :newer::int THEN 2 ELSE 1 END
          FROM generate_series(1, :count::int) i`,
        { count, newer },
      );
      await run(`INSERT INTO client_secrets (version, sealed_secret, hash)
        VALUES (1, '\\x01', '\\x01'), (2, '\\x02', '\\x01')`);
    },
    /** No process of this service has ever stored a client secret. */
    noSecretIsStored: () => run(`DELETE FROM client_secrets`),
  };
}

interface AStep {
  uuid: string;
  kind: Step["kind"];
  /** `null` if the step waits for the tokens. */
  inSeconds?: number | null;
  sinceSeconds?: number;
  detail?: object;
  attempts?: number;
  lastError?: Step["lastError"];
  lease?: number;
  leaseSeconds?: number | null;
}

/** Of this kind; tried before or not; answered "later" by the vendor's service or not. */
export interface Waiting {
  kind?: Step["kind"] | null;
  isTried?: boolean | null;
  isSaid?: boolean | null;
}

function steps(db: Queryable) {
  const run = runOn(db);
  return {
    /** A process has written a step, and died or was stopped before it ran the step. */
    aStepIsLeft({ uuid, kind, inSeconds = 0, sinceSeconds = 0, ...more }: AStep) {
      const { detail = {}, attempts = 0, lastError = null, lease = 0, leaseSeconds = null } = more;
      return db.query(
        statement<Omit<Required<AStep>, "detail"> & { detail: string }>("forged_a_step_is_left").sql(
          `INSERT INTO steps (uuid, kind, key, due_at, created_at, detail, attempts, last_error, lease, leased_until)
            VALUES (:uuid::uuid, :kind, CASE :kind WHEN 'provision' THEN :uuid::uuid ELSE gen_random_uuid() END, ${IN},
              ${SINCE}, :detail::jsonb, :attempts, :lastError, :lease, now() + make_interval(secs => :leaseSeconds))`,
        ),
        {
          uuid,
          kind,
          inSeconds,
          sinceSeconds,
          detail: JSON.stringify(detail),
          attempts,
          lastError,
          lease,
          leaseSeconds,
        },
      );
    },
    /** The pause after a step's last try is over, or the overlap of two credentials. */
    stepsFellDue: (uuids: Uuids = ALL, { kind = null, isTried = null, isSaid = null }: Waiting = {}) =>
      run(
        `UPDATE steps SET due_at = now() WHERE due_at > now() AND ${OF}
          AND (:kind::text IS NULL OR kind = :kind)
          AND (:isTried::bool IS NULL OR (attempts > 0) = :isTried)
          AND (:isSaid::bool IS NULL OR (detail ? 'said') = :isSaid)`,
        { ...which(uuids), kind, isTried, isSaid },
      ),
    /** The next try of a failed step is due in so many seconds, after so many attempts. Returns the steps. */
    failedStepsAreDueIn: (uuids: Uuids, inSeconds: number, attempts: number | null = null) =>
      db.query(
        statement<When & { attempts: number | null }, { id: number }>("forged_failed_steps_due_in").sql(
          `UPDATE steps SET due_at = ${IN}, attempts = coalesce(:attempts, attempts)
            WHERE last_error IS NOT NULL AND leased_until IS NULL AND ${OF} RETURNING id`,
        ),
        { ...which(uuids), inSeconds, attempts },
      ),
    /** A call was cut off, and its process has so many seconds to notice. */
    cutOffStepsAreHeldFor: (uuids: Uuids, inSeconds: number) =>
      run(
        `UPDATE steps SET leased_until = ${IN}, due_at = ${IN}
          WHERE leased_until > now() AND due_at > now() AND ${OF}`,
        { ...which(uuids), inSeconds },
      ),
    /** The calls that are under way began so long ago. */
    stepsAreLateBy: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE steps SET due_at = ${SINCE} WHERE ${OF}`, { ...which(uuids), sinceSeconds }),
    /** All steps that do not wait for tokens have been due for so long, because no process runs. */
    plannedStepsAreLateBy: (sinceSeconds: number) =>
      run(`UPDATE steps SET due_at = ${SINCE} WHERE due_at IS NOT NULL`, { sinceSeconds }),
    /** The processes that ran clean-ups have released them. */
    cleanUpsAreFree: () => run(`UPDATE steps SET leased_until = NULL WHERE kind = 'clean_up'`),
    /** Steps that are due have been due for so long; later ones stay as they are. */
    dueStepsAreLateBy: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE steps SET due_at = ${SINCE} WHERE due_at < now() AND ${OF}`, {
        ...which(uuids),
        sinceSeconds,
      }),
    /** The steps first failed so long ago. */
    stepsFailSince: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE steps SET detail = detail || jsonb_build_object('dueSince', ${SINCE}) WHERE ${OF}`, {
        ...which(uuids),
        sinceSeconds,
      }),
    /** The steps are due in so many seconds, and no process holds them. */
    stepsAreDueIn: (uuids: Uuids, inSeconds: number) =>
      run(`UPDATE steps SET due_at = ${IN}, leased_until = NULL WHERE ${OF}`, { ...which(uuids), inSeconds }),
    /** Another process claims the steps. */
    stepsAreTaken: (uuids: Uuids, inSeconds: number) =>
      run(`UPDATE steps SET lease = lease + 1, leased_until = ${IN} WHERE ${OF}`, {
        ...which(uuids),
        inSeconds,
      }),
    /** The process that claimed a step died before its first try, and its lease is over. */
    newStepsAreFree: (uuids: Uuids) =>
      run(`UPDATE steps SET leased_until = NULL WHERE attempts = 0 AND ${OF}`, which(uuids)),
    /** The steps were written so long ago. */
    stepsAreFrom: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE steps SET created_at = ${SINCE} WHERE ${OF}`, { ...which(uuids), sinceSeconds }),
    /** So many tries of the steps have failed, the last one with this error. */
    stepsWereTried: (uuids: Uuids, attempts: number, lastError: Step["lastError"] = null) =>
      run(
        `UPDATE steps SET attempts = :attempts, last_error = coalesce(:lastError, last_error) WHERE ${OF}`,
        { ...which(uuids), attempts, lastError },
      ),
    /** The vendor's service has answered "later" for so long. */
    stepsWaitSince: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE steps SET detail = detail || jsonb_build_object('saidSince', ${SINCE}) WHERE ${OF}`, {
        ...which(uuids),
        sinceSeconds,
      }),
    /** All steps of this kind are done. */
    stepsAreDone: (kind: Step["kind"]) => run(`DELETE FROM steps WHERE kind = :kind`, { kind }),
  };
}

type Named = Pick<Resource, "name" | "appName">;

interface AResource {
  uuid: string;
  state?: string;
  status?: number | null;
  credential?: State;
  reason?: string | null;
  sinceSeconds?: number;
}

function resources(db: Queryable) {
  const run = runOn(db);
  return {
    /** Requests of the platform have stored a resource and its credential; the process died before any further work. */
    async aResourceIsStored({ uuid, state = "provisioned", status = null, ...more }: AResource) {
      const { credential = "no_grant", reason = null, sinceSeconds = 0 } = more;
      await run(
        `WITH made AS (INSERT INTO credentials (uuid, state, reason) VALUES (:uuid::uuid, :credential, :reason))
          INSERT INTO resources (uuid, plan, applied_plan, state, answer_status, created_at)
          VALUES (:uuid::uuid, 'basic', 'basic', :state, :status, ${SINCE})`,
        { uuid, state, status, credential, reason, sinceSeconds },
      );
    },
    /** The process died after the vendor's service had made the resource, and before it stored the answer. */
    provisionIsUnfinished: (uuids: Uuids, status: number | null = null) =>
      run(
        `UPDATE resources SET state = 'provisioning', answer_status = :status, sealed_answer = NULL WHERE ${OF}`,
        { ...which(uuids), status },
      ),
    /** The resource came to this state. */
    resourceIs: (uuids: Uuids, state: string) =>
      run(`UPDATE resources SET state = :state WHERE ${OF}`, { ...which(uuids), state }),
    /** The platform changed the plan without a request to this service, or the reverse. */
    planIs: (plan: string, uuids: Uuids = ALL) =>
      run(`UPDATE resources SET plan = :plan, applied_plan = :plan WHERE ${OF}`, { ...which(uuids), plan }),
    /** The apps of a resource were last checked so many hours ago; the next check is due after 24. */
    lookedAtHoursAgo: (uuids: Uuids, hours = 25) =>
      run(`UPDATE resources SET looked_at = ${SINCE} WHERE ${OF}`, {
        ...which(uuids),
        sinceSeconds: hours * HOUR,
      }),
    /** A resource has not changed for so long. */
    resourceIsQuietFor: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE resources SET updated_at = ${SINCE} WHERE ${OF}`, { ...which(uuids), sinceSeconds }),
    /** A resource was provisioned so long ago. */
    resourceIsFrom: (uuids: Uuids, sinceSeconds: number) =>
      run(`UPDATE resources SET created_at = ${SINCE} WHERE ${OF}`, { ...which(uuids), sinceSeconds }),
    /** So many more were provisioned, of which nothing else is stored. */
    manyAreProvisioned: (count: number, { plan, region }: { plan: string; region: string }) =>
      run(
        `INSERT INTO resources (uuid, plan, region, state, answer_status)
          SELECT md5(i::text)::uuid, :plan, :region, 'provisioned', 200 FROM generate_series(1, :count::int) i`,
        { count, plan, region },
      ),
    /** Deletes those of which nothing else is stored. */
    theManyAreGone: () =>
      run(`DELETE FROM resources r WHERE NOT EXISTS (SELECT FROM credentials c WHERE c.uuid = r.uuid)`),
    /** The customer's credentials were last rotated so many days ago. */
    rotatedDaysAgo: (uuids: Uuids, days: number) =>
      run(`UPDATE resources SET rotated_at = ${SINCE} WHERE ${OF}`, {
        ...which(uuids),
        sinceSeconds: days * DAY,
      }),
    /** All resources were deprovisioned two days ago, and no work is left. */
    async everythingWasDeprovisioned() {
      await run(`UPDATE resources SET state = 'deprovisioned', updated_at = now() - interval '2 days'`);
      await run(`UPDATE credentials SET state = 'erased', due_at = NULL, sealed_grant_code = NULL,
        sealed_access_token = NULL, sealed_refresh_token = NULL`);
      await leftovers(db).nothingIsLeftOf("steps", "ledger_marks", "ledger_findings", "ledger_comparisons");
    },
    /** Deletes resources, as if the platform had never requested them. */
    async resourcesWereNeverStored(uuids: Uuids) {
      await run(`DELETE FROM credentials WHERE ${OF}`, which(uuids));
      await run(`DELETE FROM resources WHERE ${OF}`, which(uuids));
    },
    /** The platform has reported the name of the app and, perhaps, of the add-on. */
    isNamed: (uuid: string, { name = null, appName }: Partial<Named> & Pick<Named, "appName">) =>
      run(
        `UPDATE resources SET name = coalesce(:name, name), app_name = :appName, app_id = coalesce(app_id, uuid)
          WHERE uuid = :uuid::uuid`,
        { uuid, name, appName },
      ),
    /** The vendor's service wanted these config vars; `null` if the resource was imported. */
    configIs: (uuid: string, sealed: Uint8Array | null) =>
      run(`UPDATE resources SET sealed_config = :sealed::bytea WHERE uuid = :uuid::uuid`, { uuid, sealed }),
    /** This event was recorded for the resource. */
    anEventIsNoted: (uuid: string, type: string, detail: object = {}) =>
      run(`INSERT INTO events (uuid, type, detail) VALUES (:uuid::uuid, :type, :detail::jsonb)`, {
        uuid,
        type,
        detail: JSON.stringify(detail),
      }),
    /** The events of the resource were recorded so much earlier. */
    eventsAged: (uuid: string, seconds: number) =>
      run(`UPDATE events SET at = at - make_interval(secs => :seconds) WHERE uuid = :uuid::uuid`, {
        uuid,
        seconds,
      }),
    /** The process that ran a customer's action died two minutes ago, in the middle of it. */
    customerActionWasCutOff: (uuid: string) =>
      run(
        // An event is not changed.
        `WITH gone AS (DELETE FROM events WHERE uuid = :uuid::uuid AND type = 'customer_action' RETURNING *)
          INSERT INTO events (uuid, type, at, detail)
          SELECT uuid, type, now() - interval '2 minutes', detail - 'said' || '{"state": "running"}' FROM gone`,
        { uuid },
      ),
    /** The ledgers were seen to differ so many hours ago. */
    aMarkIsLeft: (uuid: string, kind: string, { hoursAgo = 0, detail = {} as object } = {}) =>
      run(
        `INSERT INTO ledger_marks (uuid, kind, detail, first_at) VALUES (:uuid::uuid, :kind, :detail::jsonb, ${SINCE})`,
        { uuid, kind, detail: JSON.stringify(detail), sinceSeconds: hoursAgo * HOUR },
      ),
    /** The ledgers agree again about this resource. */
    markIsGone: (uuid: string) => run(`DELETE FROM ledger_marks WHERE uuid = :uuid::uuid`, { uuid }),
    /** A comparison of the ledgers found its differences so many hours ago. */
    findingsAreFrom: (hoursAgo: number) =>
      run(`UPDATE ledger_findings SET since = ${SINCE}`, {
        sinceSeconds: hoursAgo * HOUR,
      }),
    /** The difference was last checked so many hours ago. */
    marksAreFrom: (uuids: Uuids, hoursAgo: number) =>
      run(`UPDATE ledger_marks SET last_at = ${SINCE} WHERE ${OF}`, {
        ...which(uuids),
        sinceSeconds: hoursAgo * HOUR,
      }),
  };
}

type JobRow = Pick<YourJob, "name" | "attempts" | "lastError">;
const JOBS = `(:name::text IS NULL OR name = :name)` as const;

function jobs(db: Queryable) {
  const run = runOn(db);
  return {
    /** A job last completed so long ago; it may be one of another build. */
    jobLastRan: (name: Heartbeat["name"], sinceSeconds: number) =>
      run(
        `INSERT INTO heartbeats (name, at) VALUES (:name, ${SINCE})
          ON CONFLICT (name) DO UPDATE SET at = excluded.at`,
        { name, sinceSeconds },
      ),
    /** Every job last completed so much earlier. */
    noJobRanFor: (seconds: number) =>
      run(`UPDATE heartbeats SET at = at - make_interval(secs => :seconds)`, { seconds }),
    /** Deletes the record of a job's last run, so that a test can wait for the next one. */
    jobHasNotRun: (name: Heartbeat["name"]) => run(`DELETE FROM heartbeats WHERE name = :name`, { name }),
    /** A job of the vendor's is due in so many seconds, or has been due if that is negative. */
    yourJobIsDueIn: (inSeconds: number, name: JobRow["name"] | null = null) =>
      run(`UPDATE your_jobs SET due_at = ${IN} WHERE ${JOBS}`, { inSeconds, name }),
    /** No process ran the job since this regular time, which is due. A run that is under way would store another one. */
    yourJobWasLastPlannedFor: (name: JobRow["name"], at: Date) =>
      eventually(async () => {
        const planned = await run(
          `UPDATE your_jobs SET due_at = :at, regular_at = :at WHERE name = :name AND leased_until IS NULL RETURNING name`,
          { name, at },
        );
        return planned.length === 1;
      }),
    /** The code of a release before had this job. */
    yourJobWasRemoved: (name: JobRow["name"]) =>
      run(
        `INSERT INTO your_jobs (name, cron, due_at) VALUES (:name, '0 3 * * *', now() - interval '1 day')`,
        { name },
      ),
    /** A job of the vendor's has run so many times, each time so many days ago. */
    yourJobRan: (name: JobRow["name"], count: number, daysAgo: number) =>
      run(
        `INSERT INTO your_job_runs (name, regular_at, process, started_at, ended_at, result)
          SELECT :name, now(), 'worker old:1', now() - make_interval(days => :daysAgo::int), now(), 'done'
          FROM generate_series(1, :count::int)`,
        { name, count, daysAgo },
      ),
    /** The jobs of the vendor's that no process runs are due. */
    idleJobsAreDue: () => run(`UPDATE your_jobs SET due_at = now() WHERE leased_until IS NULL`),
    /** The process that runs the vendor's job died or froze; its lease (any, or that of this number) ended so long ago. */
    yourJobLeaseIsOver: (
      sinceSeconds: number,
      lease: number | null = null,
      name: JobRow["name"] | null = null,
    ) =>
      run(
        `UPDATE your_jobs SET leased_until = ${SINCE} WHERE (:lease::int IS NULL OR lease = :lease) AND ${JOBS}`,
        { sinceSeconds, lease, name },
      ),
    /** The process was killed while it ran the vendor's job, after so many failed runs; its lease ended so long ago. */
    yourJobWasCutOff: ({ attempts, sinceSeconds }: { attempts: number; sinceSeconds: number }) =>
      run(
        `UPDATE your_jobs SET due_at = now() - interval '1 day', attempts = :attempts, started_at = now(),
          last_error = CASE WHEN :attempts > 0 THEN 'no broker' END, leased_until = ${SINCE}`,
        { attempts, sinceSeconds },
      ),
    /** So many runs in sequence of the vendor's job have failed. */
    yourJobFailed: ({ attempts, lastError = null }: { attempts: number } & Partial<JobRow>) =>
      run(`UPDATE your_jobs SET attempts = :attempts, last_error = coalesce(:lastError, last_error)`, {
        attempts,
        lastError,
      }),
    /** The first of the failed runs was so long ago. */
    yourJobFailsSince: (sinceSeconds: number) =>
      run(`UPDATE your_jobs SET failing_since = ${SINCE}`, { sinceSeconds }),
    /** The next regular run of the vendor's job should have ended so long ago. */
    yourJobIsOverdueSince: (sinceSeconds: number) =>
      run(`UPDATE your_jobs SET overdue_at = ${SINCE}`, { sinceSeconds }),
    /** The last run of the vendor's job ended well, and no process runs it. */
    yourJobWorks: () =>
      run(`UPDATE your_jobs SET attempts = 0, last_error = NULL, failing_since = NULL, alarmed_at = NULL,
        leased_until = NULL`),
  };
}

function people(db: Queryable) {
  const run = runOn(db);
  return {
    /** People signed in so long ago. */
    peopleSignedIn: (sinceSeconds: number) =>
      run(`UPDATE people SET signed_in_at = ${SINCE}`, { sinceSeconds }),
    /** The sessions of all people have expired. */
    sessionsExpired: () => run(`UPDATE sessions SET expires_at = now()`),
    /** The browsers of all people sent their last request so much earlier. */
    sessionsAreUnusedFor: (seconds: number) =>
      run(`UPDATE sessions SET seen_at = seen_at - make_interval(secs => :seconds)`, { seconds }),
    /** A customer's session and the token of the sign-on have expired. */
    async customerSessionsExpired(uuids: Uuids) {
      await run(`UPDATE customer_sessions SET expires_at = now() WHERE ${OF}`, which(uuids));
      await run(`UPDATE used_sign_ons SET expires_at = now()`);
    },
    /** A customer is signed on to the resource. */
    aCustomerIsSignedOn: (uuid: string, email: string, userId: string) =>
      run(
        `INSERT INTO customer_sessions (id_hash, uuid, email, user_id, expires_at)
          VALUES ('\\x01', :uuid::uuid, :email, :userId, now() + interval '1 hour')`,
        { uuid, email, userId },
      ),
    /** All people have signed out, and their token pairs are deleted. */
    async allHaveSignedOut() {
      await leftovers(db).nothingIsLeftOf("sessions", "people", "used_sign_ons");
      await run(`DELETE FROM credentials WHERE owner = 'person'`);
    },
    /** The token pairs are the first ones, and no process has claimed them before. */
    pairsAreTheFirst: () => run(`UPDATE credentials SET generation = 1, lease = 0`),
    /** Another process was refused with the refresh tokens of all people, and ended their sign-ins. */
    pairsAreRefusedElsewhere: () =>
      run(`UPDATE credentials SET lease = lease + 1, state = 'needs_sign_in', reason = 'refresh_token_rejected',
          due_at = NULL, leased_until = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL
        WHERE owner = 'person'`),
    /** The processes that run operators' actions last reported so much earlier. */
    actionsAreUnheardOfFor: (seconds: number) =>
      run(`UPDATE operator_actions SET seen_at = seen_at - make_interval(secs => :seconds)`, { seconds }),
    /** Operators have done this action so many times, and each ended well. */
    actionsEnded: (action: string, { count = 1, message = null as string | null } = {}) =>
      run(
        `INSERT INTO operator_actions (action, form, state, message, ended_at)
          SELECT :action::text, :action::text || n, 'done', :message, now() FROM generate_series(1, :count::int) n`,
        { action, count, message },
      ),
    /** A process that ran an operator's action was killed an hour ago. Returns the id of the action. */
    anActionWasCutOff: (action: string) =>
      db.query(
        statement<{ action: string }, { id: string }>("forged_action_cut_off").sql(
          `INSERT INTO operator_actions (action, form, seen_at)
            VALUES (:action, 'lost', now() - interval '1 hour') RETURNING id`,
        ),
        { action },
      ),
  };
}

interface Processes {
  role?: string | null;
  version?: string | null;
}

/** How PostgreSQL numbers the transaction that writes a row. */
const BY_THIS = `written_by = txid_current() % 4294967296` as const;

function database(db: Queryable) {
  const run = runOn(db);
  return {
    /** A dump was loaded: the row was written by another transaction than the one it names. */
    isLoadedFromADump: () => run(`UPDATE database_history SET timeline = timeline`),
    /** No restore was ever noticed, reported or suspected. */
    wasNeverRestored: () =>
      run(`UPDATE database_history SET restored_at = NULL, done_at = NULL, because = NULL, promoted_at = NULL,
        suspected_at = NULL, ${BY_THIS}`),
    /** A process or an operator found so long ago that the database was restored. */
    wasRestored: (sinceSeconds = 0) =>
      run(`UPDATE database_history SET restored_at = ${SINCE}, ${BY_THIS}`, { sinceSeconds }),
    /** A standby was promoted or a backup restored while no process ran, so the timeline is another one. */
    timelineChanged: () => run(`UPDATE database_history SET timeline = 7, ${BY_THIS}`),
    /** The last beats of the running processes are lost, as after a restore. */
    beatsAreLost: (count: number) =>
      run(`UPDATE processes SET beats = beats - :count::int WHERE state = 'ready'`, { count }),
    /** Deletes the rows of processes that a test generated or that have stopped, and of this pid. */
    madeUpProcessesAreGone: (pid: number | null = null) =>
      run(`DELETE FROM processes WHERE host = 'elsewhere' OR state = 'stopped' OR pid = :pid`, { pid }),
    /** The ready processes that a test generated have another release, another key and a wrong clock. */
    madeUpProcessesDiffer: () =>
      run(`UPDATE processes SET version = '0.9.0', key_id = 'another', database_ahead = 600
        WHERE host = 'elsewhere' AND state = 'ready'`),
    /** Each process has written that it stopped. */
    processesStopped: () => run(`UPDATE processes SET state = 'stopped'`),
    /** A process that was missing has written its beat again. */
    processBeats: (pid: number) =>
      run(`UPDATE processes SET beat_at = now(), missed_at = NULL WHERE pid = :pid`, { pid }),
    /** One process has not beaten for two minutes; all others have beaten without a gap for so long. */
    processIsSilent: (pid: number, sinceSeconds: number) =>
      run(
        `UPDATE processes SET steady_since = ${SINCE},
          beat_at = CASE WHEN pid = :pid THEN now() - interval '2 minutes' ELSE beat_at END`,
        { pid, sinceSeconds },
      ),
    /** The processes of this role or version were started so long ago. */
    processesStarted: (sinceSeconds: number, { role = null, version = null }: Processes) =>
      run(
        `UPDATE processes SET started_at = ${SINCE}
          WHERE (:role::text IS NULL OR role = :role) AND (:version::text IS NULL OR version = :version)`,
        { sinceSeconds, role, version },
      ),
    /** The processes beat last so long ago. */
    processesBeatAgo: (sinceSeconds: number) =>
      run(`UPDATE processes SET beat_at = ${SINCE}`, { sinceSeconds }),
    /** The database has refused writes of a process for so long. */
    writesAreRefusedSince: (sinceSeconds: number) =>
      run(`UPDATE processes SET refused_since = ${SINCE} WHERE refused_at IS NOT NULL`, { sinceSeconds }),
    /** The database last refused a write of a process so long ago. */
    writesWereRefused: (sinceSeconds: number) =>
      run(
        `UPDATE processes SET refused_at = ${SINCE}, refused_since = least(refused_since, ${SINCE}) WHERE refused_at IS NOT NULL`,
        { sinceSeconds },
      ),
  };
}
