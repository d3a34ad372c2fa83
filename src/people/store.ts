import type { State } from "../credentials/states.ts";
import type { Credential, Person, Session, UsedSignOn } from "../database/client/client.ts";
import { databaseClock } from "../database/clock.ts";
import { anyRow, statement } from "../database/statement.ts";
import type { Account } from "../platform/authorizations.ts";
import type { Secret } from "../secret.ts";
import { randomId } from "./cookies.ts";
import { isProven, proofOf } from "./proof.ts";
import {
  type Finding,
  hashesOf,
  hashOf,
  IDLE_MINUTES,
  IS_IN_USE,
  isNotNeeded,
  type Needs,
  NOTED_MINUTES,
  patiently,
  refused,
} from "./sessions.ts";

// People who sign in, their token pairs and their sessions.

export const SESSION_SECONDS = 12 * 3600;

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

const pruneSessions = statement("prune_sessions").sql(
  `DELETE FROM sessions WHERE expires_at <= now() OR NOT (${IS_IN_USE})`,
);

// With their last session people go, and so do their tokens.
const pruneSessionless = statement("prune_people").sql(
  `WITH gone AS (
     DELETE FROM people p
     -- Excludes a person who signs in at this moment, because PostgreSQL checks only this row's own columns again.
     WHERE p.signed_in_at < now() - interval '1 minute'
       AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid) RETURNING uuid
   )
   DELETE FROM credentials WHERE owner = 'person' AND uuid = ANY(ARRAY(SELECT uuid FROM gone))`,
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

/** Ends a person's session. Returns `false` if there was none. */
export async function closeSession(needs: Needs, id: Secret): Promise<boolean> {
  const where = { idHash: { in: hashesOf(needs, "sessions", id) } };
  const { count } = await patiently(async () => {
    const { session } = await needs.db.prisma();
    return session.deleteMany({ where });
  });
  return count > 0;
}

/** Deletes the sessions that have ended, and the people who have no session left. */
export async function prunePeople({ db }: Pick<Needs, "db">): Promise<void> {
  for (const each of [pruneSessions, pruneSessionless]) await db.query(each);
}
