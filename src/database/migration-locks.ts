import type pg from "pg";
import { statementsOf } from "./script-text.ts";

// A script that creates an index and then drops another first takes a lock that lets readers through, and at its end one
// that lets nobody through. Behind a backup, each try would build the index again, with all writers waiting, before it
// times out; and together with a service that writes, it is a deadlock. So the strongest lock is taken first: a try that
// fails takes a moment and builds nothing. The price is that readers too wait while the index is built, once. A script
// that needs no such lock takes none first: PostgreSQL takes the weaker one that is enough.

const NAME = String.raw`(?:"[^"]+"|[\w$]+)(?:\s*\.\s*(?:"[^"]+"|[\w$]+))?`;
/** A statement that needs a table for itself (ACCESS EXCLUSIVE), the tables or indexes that it names, and the rest. */
const NEEDS_ALONE = new RegExp(
  String.raw`^\s*(?:ALTER\s+TABLE|DROP\s+(?:TABLE|INDEX)|TRUNCATE(?:\s+TABLE)?)\s+` +
    String.raw`(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?(${NAME}(?:\s*,\s*${NAME})*)([^]*)`,
  "i",
);
/** The common actions of ALTER TABLE for which a weaker lock is enough; one is needed for all of a statement's actions. */
const LETS_READERS_THROUGH =
  /^\s*(?:(?:SET|RESET)\s*\(|VALIDATE\s+CONSTRAINT\b|ADD\s+(?:CONSTRAINT\s+\S+\s+)?FOREIGN\s+KEY\b|ATTACH\s+PARTITION\b)/i;

// Tables that the script itself creates do not exist yet. Sorted, so that all who lock several take them in one order.
const TABLES_OF = `SELECT DISTINCT t.oid::regclass::text AS name
  FROM unnest($1::text[]) AS wanted LEFT JOIN pg_index i ON i.indexrelid = to_regclass(wanted)
  JOIN pg_class t ON t.oid = coalesce(i.indrelid, to_regclass(wanted)) AND t.relkind IN ('r', 'p') ORDER BY 1`;

/** The statement that locks, before a script, the tables that it needs for itself; empty if there are none. */
export async function lockingFirst(client: pg.ClientBase, script: string): Promise<string> {
  const names = neededAlone(script);
  if (names.length === 0) return "";
  const { rows } = await client.query<{ name: string }>(TABLES_OF, [names]);
  if (rows.length === 0) return "";
  return `LOCK TABLE ${rows.map(({ name }) => name).join(", ")} IN ACCESS EXCLUSIVE MODE;\n`;
}

/** The tables that a script needs for itself, and the indexes that it drops, by their names as written in the script. */
export function neededAlone(script: string): string[] {
  return statementsOf(script)
    .filter((statement) => !/\bCONCURRENTLY\b/i.test(statement))
    .flatMap((statement) => {
      const [, names = "", actions = ""] = NEEDS_ALONE.exec(statement) ?? [];
      const isWeaker = actionsOf(actions).every((action) => LETS_READERS_THROUGH.test(action));
      return isWeaker ? [] : (names.match(new RegExp(NAME, "g")) ?? []);
    });
}

/** The actions of an ALTER TABLE, which commas outside brackets separate. A statement of another kind counts as one. */
function actionsOf(text: string): string[] {
  let depth = 0;
  const marked = text.replace(/[(),]/g, (sign) => {
    if (sign === "(") depth += 1;
    if (sign === ")") depth -= 1;
    return sign === "," && depth === 0 ? "\0" : sign;
  });
  return marked.split("\0");
}
