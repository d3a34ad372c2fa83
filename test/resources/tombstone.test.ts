import { aLifecycle } from "../support/lifecycle.ts";
import { opened } from "../support/world.ts";

// What a resource leaves behind when it ends. A new column is filled here by its type, so it is forgotten only if
// end-store.ts forgets it, or if it stands on the list of what stays.

const STAYS: Readonly<Record<string, readonly string[]>> = {
  resources: [
    // What a repeated or late request is answered by.
    ...["uuid", "state"],
    // For the operator, and for a customer who asks: no secret, and no name of a person or an app.
    ...["plan", "applied_plan", "region", "attached", "created_at", "updated_at", "rotated_at", "looked_at"],
  ],
  credentials: [
    ...["uuid", "owner", "state", "lease", "generation", "grant_number", "secret_version", "attempts"],
    ...["grant_expires_at", "issued_at", "rejected_at", "outcome_unknown", "flags", "verify_at"],
    // Of the request that brought the grant, as the log names it; its clean-up goes on with the trace.
    ...["request_id", "traceparent"],
  ],
};

const life = opened(() => aLifecycle({ environment: { SWEEP_CRON: "0 0 1 1 *" } }));

interface Column {
  name: string;
  type: string;
  initial: string | null;
}
const columnsOf = (table: string) =>
  life.world.rows<Column>(
    `SELECT column_name AS name, data_type AS type, column_default AS initial FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = $1`,
    [table],
  );

/** A value of each type that differs from null and from every default. */
const SAMPLES: Readonly<Record<string, string>> = {
  text: "'filled'",
  uuid: "gen_random_uuid()",
  jsonb: `'{"filled": true}'`,
  bytea: "'\\x01'",
  integer: "7",
  smallint: "202",
  boolean: "true",
  ARRAY: "'{filled}'",
  "timestamp with time zone": "now() + interval '1 hour'",
};

it.each(Object.keys(STAYS))(
  "a deprovisioned resource keeps in %s nothing but what is to stay",
  async (table) => {
    const uuid = await life.settled();
    const columns = await columnsOf(table);
    const free = columns.filter(({ name }) => !["uuid", "state", "owner"].includes(name));
    const filled = free.map(({ name, type }) => `${name} = ${SAMPLES[type] ?? `no sample of ${type}`}`);
    await life.world.rows(`UPDATE ${table} SET ${filled.join(", ")} WHERE uuid = $1`, [uuid]);
    expect((await life.platform.deprovision(uuid)).status).toBe(204);
    const kept: string[] = [];
    for (const { name, initial } of columns) {
      const isEmpty = initial === null ? `${name} IS NULL` : `${name} IS NOT DISTINCT FROM ${initial}`;
      const [row] = await life.world.rows<{ empty: boolean }>(
        `SELECT ${name} IS NULL OR ${isEmpty} AS empty FROM ${table} WHERE uuid = $1`,
        [uuid],
      );
      if (!row!.empty) kept.push(name);
    }
    expect(kept.filter((name) => !STAYS[table]!.includes(name))).toEqual([]);
  },
);
