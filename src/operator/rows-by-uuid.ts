import { retryWhileDatabaseAway } from "../database/database.ts";

/**
 * All rows, in the order of their uuids, page by page (keyset pagination): however many there are, no statement is long.
 * `readPage` reads the rows after a uuid, or the first ones for null, and answers none only at the end.
 */
export async function* rowsByUuid<Row extends { uuid: string }>(
  readPage: (after: string | null) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let after: string | null = null;
  for (;;) {
    const here: string | null = after;
    const rows: Row[] = await retryWhileDatabaseAway(() => readPage(here));
    if (rows.length === 0) return;
    yield* rows;
    after = rows.at(-1)!.uuid;
  }
}
