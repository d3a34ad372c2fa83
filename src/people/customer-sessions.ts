import { statement, retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import type { Secret } from "../secret.ts";
import { IS_IN_USE, IS_TO_NOTE } from "./idle.ts";
import { hashesOf, hashOf, randomId } from "./random-id.ts";
import type { Vault } from "../vault/vault.ts";
import type { CustomerResource } from "./contract.ts";
import type { SignedForm } from "./signed-form.ts";

/** How long a customer stays signed on at most (idle.ts); one click in the platform's dashboard signs them on again. */
export const CUSTOMER_SESSION_SECONDS = 4 * 3600;

/** A customer who is signed on to one resource. `email` is null when the platform did not name a user. */
export interface CustomerSession {
  email: string | null;
  resource: CustomerResource;
}

/**
 * `stale`: signed too long ago, or in the future. `used`: this form was used before. `gone`: the resource does not
 * exist, or no longer does.
 */
export type Opened = { session: Secret } | "stale" | "used" | "gone";

const PATIENCE = { upToMs: 4_000 };

// One statement with the database's clock only checks that the form comes in time and for the first time (of two
// concurrent requests, one inserts the row), and opens the session. A token is remembered for longer than it is valid,
// and so is the other one of its form: SSO_REQUIRE_USER may be changed before that. A sign-on is an event of its
// resource, once an hour for each user and address.
const open = statement(
  "open_customer_session",
  `WITH timely AS (
     SELECT to_timestamp($2::float8) BETWEEN now() - interval '5 minutes' AND now() + interval '60 seconds' AS "isTimely"
   ), known AS (
     SELECT r.uuid FROM resources r, timely
     WHERE r.uuid = $1 AND r.state IN ('provisioning', 'provisioned') AND "isTimely"
   ), other AS (
     INSERT INTO used_sign_ons (token_hash, expires_at)
     SELECT $4::bytea, to_timestamp($2::float8) + interval '10 minutes' FROM known WHERE $4::bytea IS NOT NULL
     ON CONFLICT DO NOTHING
   ), spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at)
     SELECT $3::bytea, to_timestamp($2::float8) + interval '10 minutes' FROM known ON CONFLICT DO NOTHING RETURNING 1
   ), opened AS (
     INSERT INTO customer_sessions (id_hash, uuid, email, expires_at)
     SELECT $5, known.uuid, $6, now() + interval '${CUSTOMER_SESSION_SECONDS} seconds' FROM known, spent
     ON CONFLICT DO NOTHING RETURNING 1
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT known.uuid, 'signed_on', $7::jsonb FROM known, opened
     WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.uuid = known.uuid AND e.type = 'signed_on'
       AND e.detail = $7::jsonb AND e.at > now() - interval '1 hour')
   )
   SELECT "isTimely", EXISTS (SELECT 1 FROM known) AS "isKnown", EXISTS (SELECT 1 FROM opened) AS "isOpened" FROM timely`,
);
// Reads the resource each time, so that a session ends at the same moment as its resource.
const find = statement(
  "find_customer_session",
  `SELECT s.email, r.uuid, r.name, coalesce(change.plan, r.plan) AS plan, change.plan IS NOT NULL AS "isChangingPlan", r.region, r.state,
     r.app_name AS "appName", r.created_at AS "createdAt",
     (SELECT detail->>'said' FROM steps WHERE uuid = r.uuid AND kind = 'finish' ORDER BY id LIMIT 1) AS progress,
     s.${IS_TO_NOTE} AS "isToNote"
   FROM customer_sessions s JOIN resources r ON r.uuid = s.uuid LEFT JOIN LATERAL (
     SELECT detail->>'plan' AS plan FROM steps WHERE uuid = r.uuid AND kind IN ('change_plan', 'finish') AND detail ? 'plan'
     ORDER BY id DESC LIMIT 1) change ON true
   WHERE s.id_hash = ANY($1::bytea[]) AND s.uuid = $2 AND s.expires_at > now() AND s.${IS_IN_USE}
     AND r.state IN ('provisioning', 'provisioned')`,
);
const noteUse = statement(
  "note_customer_session",
  `UPDATE customer_sessions SET seen_at = now() WHERE id_hash = ANY($1::bytea[])`,
);
const close = statement(
  "close_customer_session",
  `DELETE FROM customer_sessions WHERE id_hash = ANY($1::bytea[])`,
);

/** Sessions of customers, each for one resource. The database stores only the keyed hash of the id in the cookie. */
export function createCustomerSessions({ db, vault }: { db: Queryable; vault: Vault }) {
  return {
    /** Uses up a signed form and opens a session for it. `address` is the client's. */
    async open(
      { uuid, timestamp, tokenHash, otherTokenHash, user }: SignedForm,
      address: string | null,
    ): Promise<Opened> {
      const session = randomId();
      const values = [
        ...[uuid, timestamp, tokenHash, otherTokenHash, hashOf(vault, "customer", session)],
        ...[user?.email ?? null, JSON.stringify({ user: user?.id, address })],
      ];
      // Not retried: if the answer to the first try was lost, the second would find the form used.
      const [row] = await db.query<Record<"isTimely" | "isKnown" | "isOpened", boolean>>(open, values);
      if (row!.isOpened) return { session };
      if (!row!.isTimely) return "stale";
      return row!.isKnown ? "used" : "gone";
    },

    async find(session: Secret, uuid: string): Promise<CustomerSession | null> {
      const hashes = hashesOf(vault, "customer", session);
      const work = () =>
        db.query<CustomerResource & { email: string | null; isToNote: boolean }>(find, [hashes, uuid]);
      const [row] = await retryWhileDatabaseAway(work, PATIENCE);
      if (!row) return null;
      const { email, isToNote, ...resource } = row;
      // Not needed for the answer: it is noted with the next request, too.
      if (isToNote) await db.query(noteUse, [hashes]).catch(() => undefined);
      return { email, resource };
    },

    async close(session: Secret): Promise<void> {
      await retryWhileDatabaseAway(() => db.query(close, [hashesOf(vault, "customer", session)]), PATIENCE);
    },
  };
}

export type CustomerSessions = ReturnType<typeof createCustomerSessions>;
