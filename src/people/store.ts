import type { State } from "../credentials/states.ts";
import type {
  Credential,
  CustomerSession,
  Person,
  Resource,
  Session,
  UsedSignOn,
} from "../database/client/client.ts";
import { databaseClock } from "../database/clock.ts";
import type { Database } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { anyRow, columnsOf, oneRow, type RowOf, statement } from "../database/statement.ts";
import type { Log } from "../logging/log.ts";
import type { Account } from "../platform/authorizations.ts";
import type { Clocks } from "../processes/clocks.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import type { CustomerResource } from "./contract.ts";
import { randomId } from "./cookies.ts";
import { isProven, proofOf } from "./proof.ts";
import type { SignedForm } from "./sign-on.ts";

// Sessions of people and of customers. The database's clock alone decides how long they last. An id exists in one browser's
// cookie and nowhere else; stored is its keyed hash.

type Needs = { db: Database; vault: Vault };
/** For finding a session: one that is refused is logged. */
type Finding = Needs & { log: Log };

type Table = "sessions" | "customer_sessions";

/** What is hashed is labelled: the same id has another hash for another purpose. */
const LABELS = { sessions: "session", customer_sessions: "customer" };

function hashOf({ vault }: Needs, table: Table, id: Secret, keyId = vault.keyId): Session["idHash"] {
  return vault.hash(new Secret(`${LABELS[table]}:${id.reveal()}`), keyId);
}

/** Finds ids stored before a key rotation too. */
function hashesOf(needs: Needs, table: Table, id: Secret): Session["idHash"][] {
  return needs.vault.keyIds.map((keyId) => hashOf(needs, table, id, keyId));
}

export const SESSION_SECONDS = 12 * 3600;
export const CUSTOMER_SESSION_SECONDS = 4 * 3600;

const patiently = <T>(work: () => Promise<T>) => retryWhileUnreachable(work, { upToMs: 4_000 });
/** One that nobody used for so long ends, however much of its time is left. */
const IDLE_MINUTES = 60;
const IS_IN_USE = `seen_at > now() - interval '${IDLE_MINUTES} minutes'`;
/** A use is stored if none was for so long, so that most requests change no row. */
const NOTED_MINUTES = 5;

/** A person who has just signed in, with sealed tokens, which fall due after `share` of their life. */
interface NewPerson extends Account {
  access: Uint8Array<ArrayBuffer>;
  refresh: Uint8Array<ArrayBuffer> | null;
  lifeSeconds: number;
  share: number;
}

type NewSession = Pick<Person, "uuid" | "email" | "isEmailVerified" | "name"> &
  Pick<Credential, "sealedAccessToken" | "sealedRefreshToken"> &
  Pick<Session, "idHash"> & {
    stateHash: UsedSignOn["tokenHash"];
    personProof: Person["proof"];
    sessionProof: Session["proof"];
    lifeSeconds: number;
    share: number;
  };

// One statement uses up the state and writes person, token pair and session, so that none exists without the others:
//
//   spent (used_sign_ons) ──▶ person (people) ──▶ pair (credentials)
//                                             └──▶ opened (sessions)
const open = statement<NewSession>("open_session").sql(
  `WITH spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at) VALUES (:stateHash, now() + interval '1 hour')
     ON CONFLICT DO NOTHING RETURNING 1
   ), person AS (
     INSERT INTO people (uuid, email, is_email_verified, name, proof)
     SELECT :uuid::uuid, :email, :isEmailVerified::boolean, :name, :personProof FROM spent
     ON CONFLICT (uuid) DO UPDATE SET email = excluded.email, is_email_verified = excluded.is_email_verified,
       name = excluded.name, proof = excluded.proof, signed_in_at = now()
     RETURNING uuid
   ), pair AS (
     INSERT INTO credentials (uuid, owner, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at, generation, lease)
     SELECT uuid, 'person', 'signed_in', :sealedAccessToken::bytea, :sealedRefreshToken::bytea,
       now(), now() + make_interval(secs => :lifeSeconds::float8),
       CASE WHEN :sealedRefreshToken::bytea IS NOT NULL THEN now() + make_interval(secs => :lifeSeconds::float8 * :share::float8) END,
       -- The row may take the place of one that was deleted with the last session. A refresh of that row's pair that ends
       -- later must not fit this row, so both counts begin at random.
       floor(random() * 1e9)::int, floor(random() * 1e9)::int FROM person
     ON CONFLICT (uuid) DO UPDATE SET state = excluded.state, reason = NULL,
       sealed_access_token = excluded.sealed_access_token, sealed_refresh_token = excluded.sealed_refresh_token,
       issued_at = excluded.issued_at, expires_at = excluded.expires_at, due_at = excluded.due_at,
       -- What a refresh of the old pair brings later is not stored, because the lease is another one.
       generation = credentials.generation + 1, lease = credentials.lease + 1, leased_until = NULL, sent_at = NULL,
       attempts = 0, rejected_at = NULL, last_error = NULL
     WHERE credentials.owner = 'person'
   ), opened AS (
     INSERT INTO sessions (id_hash, person, proof, expires_at)
     SELECT :idHash, uuid, :sessionProof, now() + interval '${SESSION_SECONDS} seconds' FROM person RETURNING id_hash
   )
   -- The second part finds what an earlier try stored whose acknowledgement was lost.
   SELECT id_hash FROM opened UNION ALL SELECT id_hash FROM sessions WHERE id_hash = :idHash`,
);

type Hashes = { hashes: readonly Uint8Array[] };

const noteCustomer = statement<Hashes>("note_customer_sessions").sql(
  `UPDATE customer_sessions SET seen_at = now()
   WHERE id_hash = ANY(:hashes::bytea[]) AND seen_at < now() - interval '${NOTED_MINUTES} minutes'`,
);

const pruneSessions = statement("prune_sessions").sql(
  `DELETE FROM sessions WHERE expires_at <= now() OR NOT (${IS_IN_USE})`,
);

// With their last session people go, and so do their tokens.
const prunePeople = statement("prune_people").sql(
  `WITH gone AS (
     DELETE FROM people p
     -- Excludes a person who signs in at this moment, because PostgreSQL checks only this row's own columns again.
     WHERE p.signed_in_at < now() - interval '1 minute'
       AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid) RETURNING uuid
   )
   DELETE FROM credentials WHERE owner = 'person' AND uuid = ANY(ARRAY(SELECT uuid FROM gone))`,
);

type NewCustomerSession = Pick<CustomerSession, "uuid" | "idHash" | "email" | "userId" | "proof"> &
  Pick<UsedSignOn, "tokenHash"> & { timestamp: number };
type Opened = Record<"isTimely" | "isKnown" | "isOpened", boolean> & { nowMs: number };

// One statement, with the database's clock only, checks that the form comes in time and for the first time, and opens
// the session. Of two concurrent requests one inserts the row of the token.
const openCustomer = statement<NewCustomerSession, Opened>("open_customer_session").sql(
  `WITH timely AS (
     SELECT to_timestamp(:timestamp::float8) BETWEEN now() - interval '5 minutes' AND now() + interval '60 seconds' AS "isTimely"
   ), known AS (
     SELECT r.uuid FROM resources r, timely
     WHERE r.uuid = :uuid AND r.state IN ('provisioning', 'provisioned') AND "isTimely"
   ), spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at)
     -- It is kept for longer than the token is valid.
     SELECT :tokenHash::bytea, to_timestamp(:timestamp::float8) + interval '10 minutes' FROM known
     ON CONFLICT DO NOTHING RETURNING 1
   ), opened AS (
     INSERT INTO customer_sessions (id_hash, uuid, email, user_id, proof, expires_at)
     SELECT :idHash, known.uuid, :email, :userId, :proof, now() + interval '${CUSTOMER_SESSION_SECONDS} seconds' FROM known, spent
     ON CONFLICT DO NOTHING RETURNING 1
   )
   SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs", "isTimely",
     EXISTS (SELECT 1 FROM known) AS "isKnown", EXISTS (SELECT 1 FROM opened) AS "isOpened" FROM timely`,
);

const CUSTOMER = columnsOf<CustomerSession>()("s", "idHash", "proof", "email", "userId");
const RESOURCE = columnsOf<Resource>()("r", "uuid", "name", "region", "appId", "appName", "createdAt");
type FoundCustomer = RowOf<typeof CUSTOMER> &
  RowOf<typeof RESOURCE> &
  Pick<CustomerResource, "plan" | "isChangingPlan" | "state" | "progress">;

// Reads the resource each time, so that a session ends at the same moment as its resource.
const findCustomer = statement<Hashes & { uuid: string }, FoundCustomer>("find_customer_session").sql(
  `SELECT ${CUSTOMER}, ${RESOURCE}, r.state,
     coalesce(change.plan, r.plan) AS plan, change.plan IS NOT NULL AS "isChangingPlan",
     (SELECT detail->>'said' FROM steps WHERE uuid = r.uuid AND kind = 'finish' ORDER BY id LIMIT 1) AS progress
   FROM customer_sessions s JOIN resources r ON r.uuid = s.uuid LEFT JOIN LATERAL (
     SELECT detail->>'plan' AS plan FROM steps WHERE uuid = r.uuid AND kind IN ('change_plan', 'finish') AND detail ? 'plan'
     ORDER BY id DESC LIMIT 1) change ON true
   WHERE s.id_hash = ANY(:hashes::bytea[]) AND s.uuid = :uuid AND s.expires_at > now() AND s.${IS_IN_USE}
     AND r.state IN ('provisioning', 'provisioned')`,
);

const pruneSignOns = statement("prune_sign_ons").sql(`DELETE FROM used_sign_ons WHERE expires_at <= now()`);

const pruneCustomerSessions = statement("prune_customer_sessions").sql(
  `DELETE FROM customer_sessions s WHERE expires_at <= now() OR NOT (${IS_IN_USE})
     -- \`findCustomer\` leaves these out at once. Sessions are few, so the resource of each is read by its key.
     OR (SELECT r.state FROM resources r WHERE r.uuid = s.uuid) IN ('failed', 'deprovisioned')`,
);

/** Returns the id for the person's browser, and null if the state with this hash was used before. */
export async function openSession(
  needs: Needs,
  { id, email, isEmailVerified, name, access, refresh, lifeSeconds, share }: NewPerson,
  stateHash: UsedSignOn["tokenHash"],
): Promise<Secret | null> {
  const session = randomId();
  const idHash = hashOf(needs, "sessions", session);
  const values: NewSession = {
    uuid: id,
    email,
    isEmailVerified,
    name,
    personProof: proofOf(needs, "people", [id, email, isEmailVerified, name]),
    sealedAccessToken: access,
    sealedRefreshToken: refresh,
    lifeSeconds,
    share,
    idHash,
    sessionProof: proofOf(needs, "sessions", [idHash, id]),
    stateHash,
  };
  return (await patiently(() => anyRow(needs.db, open, values))) ? session : null;
}

/** Whose session it is. None whose row, or that of its person, was changed by somebody else. `isUse`: it lasts an hour more. */
export async function findSession(needs: Finding, id: Secret, isUse: boolean): Promise<Account | null> {
  const { found, now } = await patiently(() => lookUp(needs, id));
  // The person may go between the two statements of the look.
  if (!found?.of) return null;
  const { idHash, seenAt, proof, of } = found;
  const { uuid, email, isEmailVerified, name } = of;
  const isOurs =
    isProven(needs, "sessions", [idHash, uuid], proof) &&
    isProven(needs, "people", [uuid, email, isEmailVerified, name], of.proof);
  if (!isOurs) return refused(needs, { table: "sessions", person: uuid });
  if (isUse && seenAt < minutesBefore(now, NOTED_MINUTES)) {
    const { session } = await needs.db.prisma();
    await session.updateMany({ where: { idHash }, data: { seenAt: now } }).catch(isNotNeeded);
  }
  return { id: uuid, email, isEmailVerified, name };
}

async function lookUp(needs: Needs, id: Secret) {
  const { session } = await needs.db.prisma();
  const now = new Date(await databaseClock(needs.db));
  const where = {
    idHash: { in: hashesOf(needs, "sessions", id) },
    expiresAt: { gt: now },
    seenAt: { gt: minutesBefore(now, IDLE_MINUTES) },
    of: { pair: { state: { not: "needs_sign_in" satisfies State } } },
  };
  return { found: await session.findFirst({ where, include: { of: true } }), now };
}

const minutesBefore = (time: Date, minutes: number) => new Date(time.getTime() - minutes * 60_000);

function refused({ log }: Finding, about: { table: Table; person?: string; uuid?: string }): null {
  log.warn(about, "A session is refused, because its rows in the database were not written by this service");
  return null;
}

/** Of a use that cannot be stored: it is stored with the next request. */
const isNotNeeded = () => undefined;

/** Ends a person's session. Returns `false` if there was none. */
export const closeSession = (needs: Needs, id: Secret) => close(needs, "sessions", id);

/** Ends a customer's session. Returns `false` if there was none. */
export const closeCustomerSession = (needs: Needs, id: Secret) => close(needs, "customer_sessions", id);

async function close(needs: Needs, table: Table, id: Secret): Promise<boolean> {
  const where = { idHash: { in: hashesOf(needs, table, id) } };
  const { count } = await patiently(async () => {
    const { session, customerSession } = await needs.db.prisma();
    return table === "sessions" ? session.deleteMany({ where }) : customerSession.deleteMany({ where });
  });
  return count > 0;
}

/** Uses up a signed form and opens a session for it, or says why not. */
export async function openCustomerSession(
  needs: Needs & { clocks: Clocks },
  { uuid, timestamp, tokenHash, user }: SignedForm,
): Promise<{ session: Secret } | "stale" | "used" | "gone"> {
  const session = randomId();
  const idHash = hashOf(needs, "customer_sessions", session);
  const [email, userId] = [user?.email ?? null, user?.id ?? null];
  const proof = proofOf(needs, "customer_sessions", [idHash, uuid, email, userId]);
  const values = { uuid, timestamp, tokenHash, idHash, email, userId, proof };
  const end = needs.clocks.measure("database");
  // Not retried: if the answer to the first try was lost, the second would find the form used.
  const row = (await oneRow(needs.db, openCustomer, values))!;
  end(row.nowMs);
  if (row.isOpened) return { session };
  if (!row.isTimely) return "stale";
  return row.isKnown ? "used" : "gone";
}

/** The resource that a customer is signed on to, and who that is: null where the platform did not name a user. */
export async function findCustomerSession(needs: Finding, session: Secret, uuid: string) {
  const hashes = hashesOf(needs, "customer_sessions", session);
  const found = await patiently(() => oneRow(needs.db, findCustomer, { hashes, uuid }));
  if (!found) return null;
  const { idHash, proof, ...customer } = found;
  if (!isProven(needs, "customer_sessions", [idHash, uuid, customer.email, customer.userId], proof))
    return refused(needs, { table: "customer_sessions", uuid });
  await needs.db.query(noteCustomer, { hashes }).catch(isNotNeeded);
  return customer;
}

export async function prunePeopleAndCustomers({ db }: Pick<Needs, "db">): Promise<void> {
  for (const each of [pruneSessions, prunePeople, pruneSignOns, pruneCustomerSessions]) await db.query(each);
}
