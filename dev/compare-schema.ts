import type { Client } from "pg";
import type { Column, Model, Table } from "./models.ts";

/** The tables of a schema, but for that of the migrations. */
export async function tablesIn(client: Pick<Client, "query">, schema: string): Promise<Table[]> {
  // So that types of this schema are shown without it.
  await client.query(`SET search_path = ${schema}, public`);
  const { rows } = await client.query<Table>(
    `SELECT relname AS name,
       (SELECT json_agg(json_build_object('name', attname, 'type',
          format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END) ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
       (SELECT coalesce(json_agg(attname ORDER BY array_position(indkey::int2[], attnum)), '[]')
        FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
        WHERE indrelid = c.oid AND indisprimary) AS key
     FROM pg_class c WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname <> '_prisma_migrations' ORDER BY relname`,
    [schema],
  );
  return rows;
}

interface Side {
  /** The schema's file. */
  file: string;
  /** PostgreSQL's schema. */
  schema: string;
  /** The folder of the migrations. */
  migrations: string;
}

/** What the models and the tables that the migrations make say differently, each with its cure. */
export function differences(models: readonly Model[], tables: readonly Table[], side: Side): string[] {
  const { file, schema, migrations } = side;
  const found = models.flatMap((model) => {
    const table = tables.find(({ name }) => name === model.name);
    if (table) return differencesOf(model, table, side);
    const head = `The model ${model.model} of ${file} has no table ${schema}.${model.name}: no migration makes it.`;
    return `${head} Add ${migrations}/YYYYMMDDHHMMSS_${model.name}/migration.sql:\n${creating(model)}`;
  });
  const lacking = tables.filter(({ name }) => !models.some((model) => model.name === name));
  const cure = "Add one (with @@ignore if only SQL uses the table), or drop the table in a new migration.";
  return [
    ...found,
    ...lacking.map(
      ({ name }) => `The migrations make the table ${schema}.${name}, of which ${file} has no model. ${cure}`,
    ),
  ];
}

function differencesOf(model: Model, table: Table, { file, schema, migrations }: Side): string[] {
  const found: string[] = [];
  const place = `${schema}.${table.name}`;
  for (const column of model.columns) {
    const made = table.columns.find(({ name }) => name === column.name);
    if (!made) {
      const head = `The model ${model.model} of ${file} has a column ${column.name} that ${place} lacks: no migration makes it.`;
      const cure = `Add one to ${migrations}/ (rows that are there need a DEFAULT, or a column that may be null)`;
      found.push(`${head} ${cure}:\nALTER TABLE "${table.name}" ADD COLUMN ${written(column)};`);
    } else if (comparable(made) !== comparable(column))
      found.push(
        `The model ${model.model} of ${file} has ${column.name} as ${column.type}, and the migrations make it ${made.type}. Correct the model, or change the column in a new migration.`,
      );
  }
  for (const { name, type } of table.columns)
    if (!model.columns.some((column) => column.name === name))
      found.push(
        `The migrations make the column ${place}.${name} (${type}), of which the model ${model.model} of ${file} has no field. Add one (with @ignore if only SQL uses the column), or drop the column in a new migration.`,
      );
  if (String(model.key) !== String(table.key))
    found.push(
      `The model ${model.model} of ${file} has (${model.key.join(", ")}) as its key, and ${place} (${table.key.join(", ")}). Correct the model, or change the key in a new migration.`,
    );
  return found;
}

/** Six digits are PostgreSQL's own precision of a time, and Prisma reads a list that is null as an empty one. */
const comparable = ({ type }: Column) =>
  type
    .replace(/"/g, "")
    .replace("(6) with", " with")
    .replace(/\[\].*/, "[]");

const written = ({ name, type }: Column) => `"${name}" ${type}`;

function creating({ name, columns, key }: Table): string {
  const lines = columns.map((column) => `  ${written(column)}`);
  const primary = key.length > 0 ? [`  PRIMARY KEY (${key.map((each) => `"${each}"`).join(", ")})`] : [];
  return `CREATE TABLE "${name}" (\n${[...lines, ...primary].join(",\n")}\n);`;
}
