import type { Context } from "../context.ts";
import { retryWhileDatabaseAway, statement, type Statement } from "../database/database.ts";
import type { Account } from "../platform/account.ts";
import { Secret } from "../secret.ts";
import type { CustomerResource } from "./contract.ts";
import { randomId } from "./cookies.ts";
import type { SignedForm } from "./sign-on.ts";

// Sessions of people and of customers. In SQL, because the database's clock alone decides how long they last. An id
// exists in one browser's cookie and nowhere else; stored is its keyed hash.

type Needs = Pick<Context, "db" | "vault">;

type Table = "sessions" | "customer_sessions";

/** What is hashed is labelled: the same id has another hash for another purpose. */
const LABELS = { sessions: "session", customer_sessions: "customer" };

function hashOf({ vault }: Needs, table: Table, id: Secret, keyId = vault.keyId): Uint8Array {
  return vault.hash(new Secret(`${LABELS[table]}:${id.reveal()}`), keyId);
}

/** With every key in the ring, for look-ups: finds ids stored before a key rotation too. */
function hashesOf(needs: Needs, table: Table, id: Secret): Uint8Array[] {
  return needs.vault.keyIds.map((keyId) => hashOf(needs, table, id, keyId));
}

/** How long a session of a person lasts at most. */
export const SESSION_SECONDS = 12 * 3600;
/** How long a customer stays signed on at most; one click in the platform's dashboard signs them on again. */
export const CUSTOMER_SESSION_SECONDS = 4 * 3600;

const patiently = <T>(work: () => Promise<T>) => retryWhileDatabaseAway(work, { upToMs: 4_000 });
/** One that nobody used for an hour ends, however much of its time is left. */
const IS_IN_USE = `seen_at > now() - interval '60 minutes'`;
/** Its use is stored only this often, so that most requests write nothing. */
const IS_TO_NOTE = `seen_at < now() - interval '5 minutes'`;

/** A signed-in person, as the parts of the service see them. */
export interface Person extends Account {
  scopes: string[];
  signedInAt: Date;
  sessionEndsAt: Date;
  /** The platform no longer accepts this person's tokens: they must sign in again. */
  isRefused: boolean;
}

/** A person who has just signed in, with sealed tokens, which fall due after `share` of their life. */
export interface NewPerson extends Account {
  scopes: string[];
  access: Uint8Array;
  refresh: Uint8Array | null;
  lifeSeconds: number;
  share: number;
}

// One statement uses up the state and writes person, token pair and session, so that none exists without the others. A
// new pair replaces the old one and raises the lease, so what a refresh of the old pair brings later is not stored. Nor
// is it if the old row was deleted with the last session: the counts of a new row begin at random.
const open = statement(
  "open_session",
  `WITH spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at) VALUES ($11, now() + interval '1 hour')
     ON CONFLICT DO NOTHING RETURNING 1
   ), person AS (
     INSERT INTO people (uuid, email, is_email_verified, name, scopes)
     SELECT $1::uuid, $2, $3::boolean, $4, $5::text[] FROM spent
     ON CONFLICT (uuid) DO UPDATE SET email = excluded.email, is_email_verified = excluded.is_email_verified,
       name = excluded.name, scopes = excluded.scopes, signed_in_at = now()
     RETURNING uuid
   ), pair AS (
     INSERT INTO credentials (uuid, owner, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at, generation, lease)
     SELECT uuid, 'person', 'signed_in', $6::bytea, $7::bytea, now(), now() + make_interval(secs => $8::float8),
       CASE WHEN $7::bytea IS NOT NULL THEN now() + make_interval(secs => $8::float8 * $9::float8) END,
       floor(random() * 1e9)::int, floor(random() * 1e9)::int FROM person
     ON CONFLICT (uuid) DO UPDATE SET state = excluded.state, reason = NULL,
       sealed_access_token = excluded.sealed_access_token, sealed_refresh_token = excluded.sealed_refresh_token,
       issued_at = excluded.issued_at, expires_at = excluded.expires_at, due_at = excluded.due_at,
       generation = credentials.generation + 1, lease = credentials.lease + 1, leased_until = NULL, sent_at = NULL,
       attempts = 0, rejected_at = NULL, last_error = NULL
     WHERE credentials.owner = 'person'
   ), opened AS (
     INSERT INTO sessions (id_hash, person, expires_at)
     SELECT $10, uuid, now() + interval '${SESSION_SECONDS} seconds' FROM person RETURNING id_hash
   )
   SELECT id_hash FROM opened UNION ALL SELECT id_hash FROM sessions WHERE id_hash = $10`,
);
// A person without a pair was refused by the platform before the upgrade.
const find = statement(
  "find_session",
  `SELECT p.uuid AS id, p.email, p.is_email_verified AS "isEmailVerified", p.name, p.scopes,
     coalesce(c.state, 'needs_sign_in') = 'needs_sign_in' AS "isRefused", s.created_at AS "signedInAt",
     s.expires_at AS "sessionEndsAt", s.${IS_TO_NOTE} AS "isToNote"
   FROM sessions s JOIN people p ON p.uuid = s.person LEFT JOIN credentials c ON c.uuid = p.uuid
   WHERE s.id_hash = ANY($1::bytea[]) AND s.expires_at > now() AND s.${IS_IN_USE}`,
);
const noteUse = (table: Table) =>
  statement(`note_${table}`, `UPDATE ${table} SET seen_at = now() WHERE id_hash = ANY($1::bytea[])`);
const closed = (table: Table) =>
  statement(`close_${table}`, `DELETE FROM ${table} WHERE id_hash = ANY($1::bytea[])`);
const describe = statement(
  "describe_person",
  `UPDATE people SET email = $2, is_email_verified = $3, name = $4 WHERE uuid = $1`,
);
// Locks the person first, as a sign-in does: the check for other sessions then sees the latest ones, and no deadlock
// arises.
const lockPerson = statement(
  "lock_person_of_session",
  `SELECT p.uuid AS id, p.email, p.is_email_verified AS "isEmailVerified", p.name
   FROM people p JOIN sessions s ON s.person = p.uuid WHERE s.id_hash = ANY($1::bytea[]) FOR UPDATE OF p`,
);
/** With a person's last session they go, and so do their tokens. */
const forgetPeople = (name: string, which: string) =>
  statement(
    name,
    `WITH gone AS (
       DELETE FROM people p WHERE ${which} AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid) RETURNING uuid
     )
     DELETE FROM credentials WHERE owner = 'person' AND uuid = ANY(ARRAY(SELECT uuid FROM gone))`,
  );
const forgetIfLast = forgetPeople("forget_person_without_session", "p.uuid = $1");
const pruneSessions = statement(
  "prune_sessions",
  `DELETE FROM sessions WHERE expires_at <= now() OR NOT (${IS_IN_USE})`,
);
// If somebody signs in meanwhile, PostgreSQL re-checks only this row's own columns, so `signed_in_at` must exclude them.
const prunePeople = forgetPeople("prune_people", "p.signed_in_at < now() - interval '1 minute'");

// One statement with the database's clock only checks that the form comes in time and for the first time (of two
// concurrent requests, one inserts the row), and opens the session. A token is remembered for longer than it is valid. A
// sign-on is an event of its resource, once an hour for each user and address.
const openCustomer = statement(
  "open_customer_session",
  `WITH timely AS (
     SELECT to_timestamp($2::float8) BETWEEN now() - interval '5 minutes' AND now() + interval '60 seconds' AS "isTimely"
   ), known AS (
     SELECT r.uuid FROM resources r, timely
     WHERE r.uuid = $1 AND r.state IN ('provisioning', 'provisioned') AND "isTimely"
   ), spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at)
     SELECT $3::bytea, to_timestamp($2::float8) + interval '10 minutes' FROM known ON CONFLICT DO NOTHING RETURNING 1
   ), opened AS (
     INSERT INTO customer_sessions (id_hash, uuid, email, user_id, expires_at)
     SELECT $4, known.uuid, $5, $6::jsonb->>'user', now() + interval '${CUSTOMER_SESSION_SECONDS} seconds' FROM known, spent
     ON CONFLICT DO NOTHING RETURNING 1
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT known.uuid, 'signed_on', $6::jsonb FROM known, opened
     WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.uuid = known.uuid AND e.type = 'signed_on'
       AND e.detail = $6::jsonb AND e.at > now() - interval '1 hour')
   )
   SELECT "isTimely", EXISTS (SELECT 1 FROM known) AS "isKnown", EXISTS (SELECT 1 FROM opened) AS "isOpened" FROM timely`,
);
// Reads the resource each time, so that a session ends at the same moment as its resource.
const findCustomer = statement(
  "find_customer_session",
  `SELECT s.email, s.user_id AS "userId", r.app_id AS "appId", r.uuid, r.name, coalesce(change.plan, r.plan) AS plan, change.plan IS NOT NULL AS "isChangingPlan", r.region, r.state,
     r.app_name AS "appName", r.created_at AS "createdAt",
     (SELECT detail->>'said' FROM steps WHERE uuid = r.uuid AND kind = 'finish' ORDER BY id LIMIT 1) AS progress,
     s.${IS_TO_NOTE} AS "isToNote"
   FROM customer_sessions s JOIN resources r ON r.uuid = s.uuid LEFT JOIN LATERAL (
     SELECT detail->>'plan' AS plan FROM steps WHERE uuid = r.uuid AND kind IN ('change_plan', 'finish') AND detail ? 'plan'
     ORDER BY id DESC LIMIT 1) change ON true
   WHERE s.id_hash = ANY($1::bytea[]) AND s.uuid = $2 AND s.expires_at > now() AND s.${IS_IN_USE}
     AND r.state IN ('provisioning', 'provisioned')`,
);
const pruneSignOns = statement("prune_sign_ons", `DELETE FROM used_sign_ons WHERE expires_at <= now()`);
// The look-up leaves those of a removed resource out at once. Sessions are few, so the resource of each is read by its key.
const pruneCustomerSessions = statement(
  "prune_customer_sessions",
  `DELETE FROM customer_sessions s WHERE expires_at <= now() OR NOT (${IS_IN_USE})
     OR (SELECT r.state FROM resources r WHERE r.uuid = s.uuid) IN ('failed', 'deprovisioned')`,
);

/** Signs a person in; returns the id for their browser, and null if the state with this hash was used before. */
export async function openSession(
  needs: Needs,
  person: NewPerson,
  stateHash: Buffer,
): Promise<Secret | null> {
  const { id, email, isEmailVerified, name, scopes, access, refresh, lifeSeconds, share } = person;
  const session = randomId();
  const values = [
    ...[id, email, isEmailVerified, name, scopes, access, refresh, lifeSeconds, share],
    ...[hashOf(needs, "sessions", session), stateHash],
  ];
  const [opened] = await patiently(() => needs.db.query(open, values));
  return opened ? session : null;
}

/** The person of a session that has not expired. `isUse`: somebody uses it now. */
export function findSession(needs: Needs, session: Secret, { isUse = true } = {}): Promise<Person | null> {
  return found<Person>(needs, "sessions", find, session, { isUse });
}

/** The row of a session in use; that it was used is noted. */
async function found<Row>(
  needs: Needs,
  table: Table,
  look: Statement,
  session: Secret,
  { isUse = true, more = [] }: { isUse?: boolean; more?: unknown[] },
): Promise<Row | null> {
  const hashes = hashesOf(needs, table, session);
  const [row] = await patiently(() => needs.db.query<Row & { isToNote: boolean }>(look, [hashes, ...more]));
  if (!row) return null;
  const { isToNote, ...rest } = row;
  // Not needed for the answer: it is noted with the next request, too.
  if (isUse && isToNote) await needs.db.query(noteUse(table), [hashes]).catch(() => undefined);
  return rest as Row;
}

/** Stores what the platform says of a person now. */
export async function describePerson({ db }: Needs, account: Account): Promise<void> {
  await db.query(describe, [account.id, account.email, account.isEmailVerified, account.name]);
}

/** Ends a session, and with a person's last one deletes their tokens. Returns whose it was; null if it had ended. */
export function closeSession(needs: Needs, session: Secret): Promise<Account | null> {
  const hashes = hashesOf(needs, "sessions", session);
  return patiently(() =>
    needs.db.transaction(async (tx) => {
      const [person] = await tx.query<Account>(lockPerson, [hashes]);
      await tx.query(closed("sessions"), [hashes]);
      if (person) await tx.query(forgetIfLast, [person.id]);
      return person ?? null;
    }),
  );
}

/**
 * Uses up a signed form and opens a session for it. `address` is the client's. `stale`: signed too long ago, or in the
 * future. `used`: this form was used before. `gone`: the resource does not exist, or no longer does.
 */
export async function openCustomerSession(
  needs: Needs,
  { uuid, timestamp, tokenHash, user }: SignedForm,
  address: string | null,
): Promise<{ session: Secret } | "stale" | "used" | "gone"> {
  const session = randomId();
  const values = [
    ...[uuid, timestamp, tokenHash, hashOf(needs, "customer_sessions", session)],
    ...[user?.email ?? null, JSON.stringify({ user: user?.id, address })],
  ];
  // Not retried: if the answer to the first try was lost, the second would find the form used.
  const [row] = await needs.db.query<Record<"isTimely" | "isKnown" | "isOpened", boolean>>(
    openCustomer,
    values,
  );
  if (row!.isOpened) return { session };
  if (!row!.isTimely) return "stale";
  return row!.isKnown ? "used" : "gone";
}

/** Who is signed on, null where the platform did not name a user; and the id of the resource's app, if it is known. */
interface SignedOn {
  email: string | null;
  userId: string | null;
  appId: string | null;
}

/** The resource that a customer is signed on to, and who that is. */
export function findCustomerSession(
  needs: Needs,
  session: Secret,
  uuid: string,
): Promise<(CustomerResource & SignedOn) | null> {
  return found(needs, "customer_sessions", findCustomer, session, { more: [uuid] });
}

export async function closeCustomerSession(needs: Needs, session: Secret): Promise<void> {
  const hashes = hashesOf(needs, "customer_sessions", session);
  await patiently(() => needs.db.query(closed("customer_sessions"), [hashes]));
}

/** Deletes sessions that are over, people without a session, with their tokens, and what was used and is too old to be sent again. */
export async function prunePeopleAndCustomers({ db }: Pick<Needs, "db">): Promise<void> {
  for (const each of [pruneSessions, prunePeople, pruneSignOns, pruneCustomerSessions]) await db.query(each);
}
