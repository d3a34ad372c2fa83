import type { World } from "../support/world.ts";

/** PostgreSQL refuses every new row of a table with this SQLSTATE, until `end`. */
export async function aRefusal({ rows }: Pick<World, "rows">, table: string, state: string) {
  await rows(
    `CREATE OR REPLACE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'refused by a test' USING ERRCODE = '${state}'; END $$`,
  );
  await rows(`CREATE TRIGGER refused BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION refused()`);
  return { end: () => rows(`DROP TRIGGER refused ON ${table}`) };
}
