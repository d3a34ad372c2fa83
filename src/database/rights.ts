import { OUR_TABLES } from "./our-tables.ts";
import { statement, type Queryable } from "./statement.ts";

// The catalog is searched by table name, because a role without USAGE on the schema cannot resolve a name in it.
// docs/database.md says which rights to grant.
const readMissing = statement(
  "missing_rights",
  `WITH home AS (
     SELECT oid, nspname FROM pg_namespace WHERE nspname = coalesce(current_schema(), 'public')
   ), tables AS (
     SELECT c.oid, c.relname, c.relowner, false AS "isSequence" FROM pg_class c JOIN home ON home.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND c.relname = ANY($1::text[])
   ), ours AS (
     SELECT * FROM tables
     UNION ALL
     SELECT s.oid, s.relname, s.relowner, true FROM tables
     JOIN pg_depend d ON d.refobjid = tables.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'a'
     JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
   ), lacking AS (
     SELECT relname, relowner, "isSequence", array_agg(privilege ORDER BY nr) AS privileges
     FROM ours, unnest(CASE WHEN "isSequence" THEN ARRAY['USAGE'] WHEN relname = '_prisma_migrations' THEN ARRAY['SELECT']
       ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END) WITH ORDINALITY AS wanted(privilege, nr)
     WHERE NOT CASE WHEN "isSequence" THEN has_sequence_privilege(oid, privilege) ELSE has_table_privilege(oid, privilege) END
     GROUP BY 1, 2, 3
   ), missing AS (
     SELECT array_to_string(privileges, ', ') AS privileges, CASE WHEN "isSequence" THEN 'SEQUENCE ' ELSE '' END AS kind,
       string_agg(quote_ident(relname), ', ' ORDER BY relname) AS names, relowner AS owner
     FROM lacking GROUP BY 1, 2, 4
     UNION ALL
     SELECT 'USAGE', 'SCHEMA ', quote_ident(nspname), min(relowner) FROM home, ours
     WHERE NOT has_schema_privilege(home.oid, 'USAGE') GROUP BY nspname
   )
   SELECT privileges, kind, names, pg_get_userbyid(owner)::text AS owner, quote_ident(current_user) AS role
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
}

/** What the service's role lacks of what docs/database.md grants. */
export interface LackOfRights {
  /** The role and what it lacks, as a sentence. */
  message: string;
  /** The roles that own the tables, and may therefore grant. */
  owners: string;
  /** The statements that mend it. */
  grants: string;
}

/** Looks for rights that the role of `db` lacks: without one of them, some work fails each time. Null: it has them all. */
export async function findLackOfRights(db: Queryable): Promise<LackOfRights | null> {
  const missing = await db.query<Missing>(readMissing, [OUR_TABLES]);
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
  };
}
