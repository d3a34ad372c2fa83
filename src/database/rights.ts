import { DELETED_FROM, OUR_TABLES } from "./our-tables.ts";
import { statement, type Queryable } from "./statement.ts";

// The catalog is searched by table name, because a role without USAGE on the schema cannot resolve a name in it. Our
// schema is the one with the migrations; before the first migration nothing is missing. A sequence's next number may be
// taken by USAGE or UPDATE. docs/database.md says which rights to grant.
const readMissing = statement(
  "missing_rights",
  `WITH home AS (
     SELECT n.oid, n.nspname,
       CASE WHEN pg_get_userbyid(n.nspowner) = 'pg_database_owner'
         THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE n.nspowner END AS owner
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relname = '_prisma_migrations' AND c.relkind = 'r'
     ORDER BY n.nspname = current_schema() DESC NULLS LAST, n.nspname = 'public' DESC LIMIT 1
   ), tables AS (
     SELECT c.oid, c.relname, c.relname AS of_table, c.relowner, 'r' AS kind FROM pg_class c JOIN home ON home.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND c.relname = ANY($1::text[])
   ), ours AS (
     SELECT * FROM tables
     UNION ALL
     SELECT s.oid, s.relname, tables.relname, s.relowner, 'S' FROM tables
     JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = tables.oid
       AND d.classid = 'pg_class'::regclass AND d.deptype = 'a'
     JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
   ), wanted AS (
     SELECT ours.*, privilege, nr FROM ours, unnest(CASE
       WHEN kind = 'S' THEN ARRAY['USAGE']
       WHEN relname = '_prisma_migrations' THEN ARRAY['SELECT']
       WHEN relname = ANY($2::text[]) THEN ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']
       ELSE ARRAY['SELECT', 'INSERT', 'UPDATE'] END) WITH ORDINALITY AS each(privilege, nr)
   ), lacking AS (
     SELECT relname, of_table, relowner, kind, array_agg(privilege ORDER BY nr) AS privileges FROM wanted
     WHERE NOT CASE WHEN kind = 'S' THEN has_sequence_privilege(oid, 'USAGE, UPDATE') ELSE has_table_privilege(oid, privilege) END
     GROUP BY 1, 2, 3, 4
   ), missing AS (
     SELECT array_to_string(privileges, ', ') AS privileges, CASE kind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END AS kind,
       string_agg(quote_ident(relname), ', ' ORDER BY relname) AS names, relowner AS owner,
       bool_or(of_table IN ('resources', 'credentials', 'steps')) AS "stopsProvisions"
     FROM lacking GROUP BY 1, 2, 4
     UNION ALL
     SELECT 'USAGE', 'SCHEMA ', quote_ident(nspname), owner, true FROM home WHERE NOT has_schema_privilege(oid, 'USAGE')
   )
   SELECT privileges, kind, names, pg_get_userbyid(owner)::text AS owner, quote_ident(current_user) AS role, "stopsProvisions"
   FROM missing ORDER BY kind = 'SEQUENCE ', kind DESC, names`,
);

interface Missing {
  /** In the syntax of GRANT: `SELECT, INSERT`. */
  privileges: string;
  /** What GRANT needs before the names, such as `SEQUENCE `; empty for tables. */
  kind: string;
  names: string;
  owner: string;
  /** The role that the service runs as. */
  role: string;
  stopsProvisions: boolean;
}

/** What the service's role lacks of what docs/database.md grants. */
export interface LackOfRights {
  /** The role and what it lacks, as a sentence. */
  message: string;
  /** The roles that own what it is about, and may therefore grant. */
  owners: string;
  /** The statements that mend it. */
  grants: string;
  /** Whether every new provision fails meanwhile. */
  stopsProvisions: boolean;
}

/** Looks for rights that the role of `db` lacks: without one of them, some work fails each time. Null: it has them all. */
export async function findLackOfRights(db: Queryable): Promise<LackOfRights | null> {
  const missing = await db.query<Missing>(readMissing, [OUR_TABLES, DELETED_FROM]);
  if (missing.length === 0) return null;
  const lacked = missing.map(
    ({ privileges, kind, names }) => `${privileges} on ${kind.toLowerCase()}${names}`,
  );
  const grants = missing.map(
    ({ privileges, kind, names, role }) => `GRANT ${privileges} ON ${kind}${names} TO ${role};`,
  );
  return {
    message: `The role ${missing[0]!.role} lacks ${lacked.join("; ")}.`,
    owners: [...new Set(missing.map(({ owner }) => owner))].join(" and "),
    grants: grants.join(" "),
    stopsProvisions: missing.some(({ stopsProvisions }) => stopsProvisions),
  };
}
