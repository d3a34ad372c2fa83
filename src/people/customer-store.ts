import type { Context } from "../context.ts";
import type { CustomerSession, Resource, UsedSignOn } from "../database/client/client.ts";
import { anyRow, columnsOf, oneRow, type RowOf, statement } from "../database/statement.ts";
import { meaningOf } from "../offer.ts";
import type { Clocks } from "../processes/clocks.ts";
import type { Secret } from "../secret.ts";
import type { CustomerResource } from "./contract.ts";
import { randomId } from "./cookies.ts";
import { isProven, proofOf } from "./proof.ts";
import {
  type Finding,
  type Hashes,
  hashesOf,
  hashOf,
  IS_IN_USE,
  isNotNeeded,
  type Needs,
  NOTED_MINUTES,
  patiently,
  refused,
} from "./sessions.ts";
import type { SignedForm } from "./sign-on.ts";

// Sessions of customers, and what their pages show of a resource.

export const CUSTOMER_SESSION_SECONDS = 4 * 3600;

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
type FoundResource = RowOf<typeof RESOURCE> &
  Pick<CustomerResource, "plan" | "isChangingPlan" | "state" | "progress">;
type FoundCustomer = RowOf<typeof CUSTOMER> & FoundResource;

const WHAT_IS_SHOWN =
  `${RESOURCE}, r.state, coalesce(change.plan, r.plan) AS plan, change.plan IS NOT NULL AS "isChangingPlan",
     (SELECT detail->>'said' FROM steps WHERE uuid = r.uuid AND kind = 'finish' ORDER BY id LIMIT 1) AS progress` as const;
const WITH_ITS_CHANGE = `resources r LEFT JOIN LATERAL (
     SELECT detail->>'plan' AS plan FROM steps WHERE uuid = r.uuid AND kind IN ('change_plan', 'finish') AND detail ? 'plan'
     ORDER BY id DESC LIMIT 1) change ON true` as const;
const IS_ALIVE = "r.state IN ('provisioning', 'provisioned')";

// Reads the resource each time, so that a session ends at the same moment as its resource.
const findCustomer = statement<Hashes & { uuid: string }, FoundCustomer>("find_customer_session").sql(
  `SELECT ${CUSTOMER}, ${WHAT_IS_SHOWN} FROM customer_sessions s JOIN ${WITH_ITS_CHANGE} ON r.uuid = s.uuid
   WHERE s.id_hash = ANY(:hashes::bytea[]) AND s.uuid = :uuid AND s.expires_at > now() AND s.${IS_IN_USE} AND ${IS_ALIVE}`,
);

// The same for who is not signed on: an operator.
const findShown = statement<{ uuid: string }, FoundResource>("find_customers_resource").sql(
  `SELECT ${WHAT_IS_SHOWN} FROM ${WITH_ITS_CHANGE} WHERE r.uuid = :uuid AND ${IS_ALIVE}`,
);

const noteUse = statement<Hashes>("note_customer_sessions").sql(
  `UPDATE customer_sessions SET seen_at = now()
   WHERE id_hash = ANY(:hashes::bytea[]) AND seen_at < now() - interval '${NOTED_MINUTES} minutes'`,
);

// In SQL, because a process that only customers visit need not load Prisma (docs/scale.md).
const closeCustomer = statement<Hashes>("close_customer_session").sql(
  `DELETE FROM customer_sessions WHERE id_hash = ANY(:hashes::bytea[]) RETURNING true`,
);

const pruneSignOns = statement("prune_sign_ons").sql(`DELETE FROM used_sign_ons WHERE expires_at <= now()`);

const pruneCustomerSessions = statement("prune_customer_sessions").sql(
  `DELETE FROM customer_sessions s WHERE expires_at <= now() OR NOT (${IS_IN_USE})
     -- \`findCustomer\` leaves these out at once. Sessions are few, so the resource of each is read by its key.
     OR (SELECT r.state FROM resources r WHERE r.uuid = s.uuid) IN ('failed', 'deprovisioned')`,
);

/** Ends a customer's session. Returns `false` if there was none. */
export function closeCustomerSession(needs: Needs, id: Secret): Promise<boolean> {
  const hashes = hashesOf(needs, "customer_sessions", id);
  return patiently(() => anyRow(needs.db, closeCustomer, { hashes }));
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
  await needs.db.query(noteUse, { hashes }).catch(isNotNeeded);
  return customer;
}

/** The resource as its customers see it; null if it has ended, or never was. */
export async function findCustomerResource(
  { db, offer }: Pick<Context, "db" | "offer">,
  uuid: string,
): Promise<CustomerResource | null> {
  const found = await patiently(() => oneRow(db, findShown, { uuid }));
  if (!found) return null;
  const { appId: _, ...resource } = found;
  return { ...resource, ...meaningOf(offer, found.plan) };
}

/** Deletes the sessions of customers that have ended, and the sign-ons that are too old to be used again. */
export async function pruneCustomers({ db }: Pick<Needs, "db">): Promise<void> {
  for (const each of [pruneSignOns, pruneCustomerSessions]) await db.query(each);
}
