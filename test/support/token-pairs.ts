import { eventually, type World } from "./world.ts";

/** A row of `credentials`, as the tests look at it. */
interface CredentialRow {
  state: string;
  reason: string | null;
  generation: number;
  attempts: number;
  lastError: string | null;
  flags: string[];
  secretVersion: number | null;
  isUnknown: boolean;
  isRefused: boolean;
  isLeased: boolean;
  /** How many of its columns hold something encrypted. */
  sealed: number;
  /** Seconds from the issue of the tokens until they expire, until their refresh is due, and from now until that. */
  life: number;
  due: number;
  dueIn: number;
}

const ROW = `SELECT state, reason, generation, attempts, last_error AS "lastError", flags, secret_version AS "secretVersion",
    outcome_unknown AS "isUnknown", rejected_at IS NOT NULL AS "isRefused", leased_until IS NOT NULL AS "isLeased",
    num_nonnulls(sealed_access_token, sealed_refresh_token, sealed_grant_code) AS sealed,
    extract(epoch FROM expires_at - issued_at)::float8 AS life, extract(epoch FROM due_at - issued_at)::float8 AS due,
    extract(epoch FROM due_at - now())::float8 AS "dueIn"
  FROM credentials WHERE uuid = $1`;

/** What the tests of grants and token pairs do and look at. */
export function tokenPairs(world: World) {
  const { control } = world.sandbox;
  const own = (uuid: string) => world.service.services.platformFor(uuid).addons.own();
  const row = async (uuid: string) => (await world.rows<CredentialRow>(ROW, [uuid]))[0]!;

  return {
    row,
    /** Waits until a row looks like this. */
    becomes: (uuid: string, what: Partial<Record<keyof CredentialRow, unknown>>, withinMs?: number) =>
      eventually(async () => {
        const found = await row(uuid);
        expect(found).toMatchObject(what);
        return found;
      }, withinMs),
    /** Installs so many add-ons of the basic plan, without waiting for their tokens. */
    install: (count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => (await control.install({ plan: "basic" })).addon.id),
      ),
    /** Waits for more than the 45 s for which a claim holds a row whose acknowledgement was lost. */
    become: (uuids: string[], generation: number, withinMs?: number) =>
      eventually(async () => {
        const found = await world.rows(
          `SELECT state, generation, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1, 2`,
          [uuids],
        );
        expect(found).toEqual([{ state: "active", generation, count: uuids.length }]);
      }, withinMs),
    makeDue: world.forged.tokensFellDue,
    ageGrant: world.forged.grantIsOver,
    damage: world.forged.bitIsFlipped,
    position: () => control.ledger().next,
    /** The calls to the token endpoint since then. */
    tokenCalls: (since = 0) =>
      control
        .ledger({ since, reveal: true })
        .entries.filter(({ direction, path }) => direction === "in" && path === "/oauth/token"),
    /** A call to the platform with the resource's token. */
    own,
    async expectAlive(uuids: string[]): Promise<void> {
      for (const uuid of uuids) expect((await own(uuid)).id).toBe(uuid);
    },
  };
}
