import { retryWhileUnreachable, statement, type Database } from "../database/database.ts";
import type { Account } from "../platform/authorizations.ts";
import { Secret } from "../secret.ts";
import type { Clocks } from "../processes/clocks.ts";
import type { Vault } from "../vault/vault.ts";
import type { Log } from "../logging/log.ts";
import type { CustomerResource } from "./contract.ts";
import { randomId } from "./cookies.ts";
import { isProven, proofOf } from "./proof.ts";
import type { SignedForm } from "./sign-on.ts";

// Sessions of people and of customers. In SQL, because the database's clock alone decides how long they last. An id
// exists in one browser's cookie and nowhere else; stored is its keyed hash.

type Needs = { db: Database; vault: Vault };
/** For finding a session: one that is refused is logged. */
type Finding = Needs & { log: Log };

type Table = "sessions" | "customer_sessions";

/** What is hashed is labelled: the same id has another hash for another purpose. */
const LABELS = { sessions: "session", customer_sessions: "customer" };

function hashOf({ vault }: Needs, table: Table, id: Secret, keyId = vault.keyId): Uint8Array {
  return vault.hash(new Secret(`${LABELS[table]}:${id.reveal()}`), keyId);
}

/** Finds ids stored before a key rotation too. */
function hashesOf(needs: Needs, table: Table, id: Secret): Uint8Array[] {
  return needs.vault.keyIds.map((keyId) => hashOf(needs, table, id, keyId));
}

export const SESSION_SECONDS = 12 * 3600;
export const CUSTOMER_SESSION_SECONDS = 4 * 3600;

const patiently = <T>(work: () => Promise<T>) => retryWhileUnreachable(work, { upToMs: 4_000 });
/** One that nobody used for an hour ends, however much of its time is left. */
const IS_IN_USE = `seen_at > now() - interval '60 minutes'`;

/** A person who has just signed in, with sealed tokens, which fall due after `share` of their life. */
interface NewPerson extends Account {
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
     INSERT INTO used_sign_ons (token_hash, expires_at) VALUES ($10, now() + interval '1 hour')
     ON CONFLICT DO NOTHING RETURNING 1
   ), person AS (
     INSERT INTO people (uuid, email, is_email_verified, name, proof)
     SELECT $1::uuid, $2, $3::boolean, $4, $11 FROM spent
     ON CONFLICT (uuid) DO UPDATE SET email = excluded.email, is_email_verified = excluded.is_email_verified,
       name = excluded.name, proof = excluded.proof, signed_in_at = now()
     RETURNING uuid
   ), pair AS (
     INSERT INTO credentials (uuid, owner, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at, generation, lease)
     SELECT uuid, 'person', 'signed_in', $5::bytea, $6::bytea, now(), now() + make_interval(secs => $7::float8),
       CASE WHEN $6::bytea IS NOT NULL THEN now() + make_interval(secs => $7::float8 * $8::float8) END,
       floor(random() * 1e9)::int, floor(random() * 1e9)::int FROM person
     ON CONFLICT (uuid) DO UPDATE SET state = excluded.state, reason = NULL,
       sealed_access_token = excluded.sealed_access_token, sealed_refresh_token = excluded.sealed_refresh_token,
       issued_at = excluded.issued_at, expires_at = excluded.expires_at, due_at = excluded.due_at,
       generation = credentials.generation + 1, lease = credentials.lease + 1, leased_until = NULL, sent_at = NULL,
       attempts = 0, rejected_at = NULL, last_error = NULL
     WHERE credentials.owner = 'person'
   ), opened AS (
     INSERT INTO sessions (id_hash, person, proof, expires_at)
     SELECT $9, uuid, $12, now() + interval '${SESSION_SECONDS} seconds' FROM person RETURNING id_hash
   )
   SELECT id_hash FROM opened UNION ALL SELECT id_hash FROM sessions WHERE id_hash = $9`,
);
const find = statement(
  "find_session",
  `SELECT p.uuid AS id, p.email, p.is_email_verified AS "isEmailVerified", p.name, p.proof AS "personProof",
     s.id_hash AS "idHash", s.proof
   FROM sessions s JOIN people p ON p.uuid = s.person JOIN credentials c ON c.uuid = p.uuid
   WHERE s.id_hash = ANY($1::bytea[]) AND s.expires_at > now() AND s.${IS_IN_USE} AND c.state <> 'needs_sign_in'`,
);
// Stored only this often, so that most requests change nothing.
const noteUse = (table: Table) =>
  statement(
    `note_${table}`,
    `UPDATE ${table} SET seen_at = now() WHERE id_hash = ANY($1::bytea[]) AND seen_at < now() - interval '5 minutes'`,
  );
const close = (table: Table) =>
  statement(`close_${table}`, `DELETE FROM ${table} WHERE id_hash = ANY($1::bytea[]) RETURNING true`);
const pruneSessions = statement(
  "prune_sessions",
  `DELETE FROM sessions WHERE expires_at <= now() OR NOT (${IS_IN_USE})`,
);
// With their last session people go, and so do their tokens. If somebody signs in meanwhile, PostgreSQL re-checks only
// this row's own columns, so `signed_in_at` must exclude them.
const prunePeople = statement(
  "prune_people",
  `WITH gone AS (
     DELETE FROM people p WHERE p.signed_in_at < now() - interval '1 minute'
       AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid) RETURNING uuid
   )
   DELETE FROM credentials WHERE owner = 'person' AND uuid = ANY(ARRAY(SELECT uuid FROM gone))`,
);

// One statement with the database's clock only checks that the form comes in time and for the first time (of two
// concurrent requests, one inserts the row), and opens the session. A token is remembered for longer than it is valid.
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
     INSERT INTO customer_sessions (id_hash, uuid, email, user_id, proof, expires_at)
     SELECT $4, known.uuid, $5, $6, $7, now() + interval '${CUSTOMER_SESSION_SECONDS} seconds' FROM known, spent
     ON CONFLICT DO NOTHING RETURNING 1
   )
   SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs", "isTimely", EXISTS (SELECT 1 FROM known) AS "isKnown", EXISTS (SELECT 1 FROM opened) AS "isOpened" FROM timely`,
);
// Reads the resource each time, so that a session ends at the same moment as its resource.
const findCustomer = statement(
  "find_customer_session",
  `SELECT s.id_hash AS "idHash", s.proof, s.email, s.user_id AS "userId", r.app_id AS "appId", r.uuid, r.name, coalesce(change.plan, r.plan) AS plan, change.plan IS NOT NULL AS "isChangingPlan", r.region, r.state,
     r.app_name AS "appName", r.created_at AS "createdAt",
     (SELECT detail->>'said' FROM steps WHERE uuid = r.uuid AND kind = 'finish' ORDER BY id LIMIT 1) AS progress
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

/** Returns the id for the person's browser, and null if the state with this hash was used before. */
export async function openSession(
  needs: Needs,
  { id, email, isEmailVerified, name, access, refresh, lifeSeconds, share }: NewPerson,
  stateHash: Buffer,
): Promise<Secret | null> {
  const session = randomId();
  const idHash = hashOf(needs, "sessions", session);
  const values = [
    ...[id, email, isEmailVerified, name, access, refresh, lifeSeconds, share, idHash, stateHash],
    ...[
      proofOf(needs, "people", [id, email, isEmailVerified, name]),
      proofOf(needs, "sessions", [idHash, id]),
    ],
  ];
  const [opened] = await patiently(() => needs.db.query(open, values));
  return opened ? session : null;
}

/** What a row says of its session, and its proof. */
type Proven = { idHash: Uint8Array; proof: Uint8Array | null };

/** Whose session it is. None whose row, or that of its person, was changed by somebody else than this service. */
export async function findSession(needs: Finding, session: Secret): Promise<Account | null> {
  const hashes = hashesOf(needs, "sessions", session);
  type Row = Account & Proven & { personProof: Uint8Array | null };
  const [found] = await patiently(() => needs.db.query<Row>(find, [hashes]));
  if (!found) return null;
  const { personProof, idHash, proof, ...person } = found;
  const { id, email, isEmailVerified, name } = person;
  const isOurs =
    isProven(needs, "sessions", [idHash, id], proof) &&
    isProven(needs, "people", [id, email, isEmailVerified, name], personProof);
  if (!isOurs) return refused(needs, { table: "sessions", person: id });
  await used(needs, "sessions", hashes);
  return person;
}

function refused({ log }: Finding, about: { table: Table; person?: string; uuid?: string }): null {
  log.warn(about, "A session is refused, because its rows in the database were not written by this service");
  return null;
}

/** Not needed for the answer: if it cannot be stored, it is with the next request. */
async function used({ db }: Needs, table: Table, hashes: readonly Uint8Array[]): Promise<void> {
  await db.query(noteUse(table), [hashes]).catch(() => undefined);
}

/** Ends a session. Returns false if there was none. */
export async function closeSession(needs: Needs, table: Table, session: Secret): Promise<boolean> {
  const closed = await patiently(() => needs.db.query(close(table), [hashesOf(needs, table, session)]));
  return closed.length > 0;
}

/** Uses up a signed form and opens a session for it, or says why not. */
export async function openCustomerSession(
  needs: Needs & { clocks: Clocks },
  { uuid, timestamp, tokenHash, user }: SignedForm,
): Promise<{ session: Secret } | "stale" | "used" | "gone"> {
  const session = randomId();
  const hash = hashOf(needs, "customer_sessions", session);
  const [email, userId] = [user?.email ?? null, user?.id ?? null];
  const proof = proofOf(needs, "customer_sessions", [hash, uuid, email, userId]);
  const values = [uuid, timestamp, tokenHash, hash, email, userId, proof];
  const end = needs.clocks.measure("database");
  // Not retried: if the answer to the first try was lost, the second would find the form used.
  const [row] = await needs.db.query<
    Record<"isTimely" | "isKnown" | "isOpened", boolean> & { nowMs: number }
  >(openCustomer, values);
  end(row!.nowMs);
  if (row!.isOpened) return { session };
  if (!row!.isTimely) return "stale";
  return row!.isKnown ? "used" : "gone";
}

/** The resource that a customer is signed on to, and who that is: null where the platform did not name a user. */
export async function findCustomerSession(needs: Finding, session: Secret, uuid: string) {
  const hashes = hashesOf(needs, "customer_sessions", session);
  type SignedOn = CustomerResource & Record<"email" | "userId" | "appId", string | null>;
  const [found] = await patiently(() => needs.db.query<SignedOn & Proven>(findCustomer, [hashes, uuid]));
  if (!found) return null;
  const { idHash, proof, ...customer } = found;
  if (!isProven(needs, "customer_sessions", [idHash, uuid, customer.email, customer.userId], proof))
    return refused(needs, { table: "customer_sessions", uuid });
  await used(needs, "customer_sessions", hashes);
  return customer;
}

export async function prunePeopleAndCustomers({ db }: Pick<Needs, "db">): Promise<void> {
  for (const each of [pruneSessions, prunePeople, pruneSignOns, pruneCustomerSessions]) await db.query(each);
}
