// Again on PostgreSQL: how full a page gets is its business.

import { expect, test } from "@jest/globals";
import { statement } from "../../src/database/database.ts";
import { createClaims } from "../../src/resources/credentials/claims.ts";
import { createCredentialStore } from "../../src/resources/credentials/store.ts";
import { anOpenDatabase } from "../support/open-database.ts";
import { eventually } from "../support/world.ts";

const opened = anOpenDatabase();

const MANY = 100;

const fill = statement(
  "fill",
  `INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, due_at)
   SELECT gen_random_uuid(), 'active', decode(repeat('ab', 130), 'hex'), decode(repeat('cd', 130), 'hex'), now()
   FROM generate_series(1, $1)`,
);
const pages = statement("pages", `SELECT uuid, (ctid::text::point)[0]::int AS page FROM credentials`);

async function pageOfEach(): Promise<Map<string, number>> {
  const rows = await opened.database.query<{ uuid: string; page: number }>(pages);
  return new Map(rows.map(({ uuid, page }) => [uuid, page]));
}

test("no index of credentials covers a column that a claim, a mark or a re-seal writes, so that these updates can be HOT", async () => {
  const rows = await opened.database.query<{ indexdef: string }>(
    statement("indexes", `SELECT indexdef FROM pg_indexes WHERE tablename = 'credentials'`),
  );
  expect(rows.length).toBeGreaterThan(5);
  for (const { indexdef } of rows)
    expect(indexdef).not.toMatch(/lease|sent_at|outcome_unknown|sealed_|generation|secret_version|issued_at/);
});

/** How many of 100 claimed credentials were moved to another page: by the claim, and then by the mark. */
async function movedByClaimAndMark(): Promise<[claim: number, mark: number]> {
  await opened.database.query(statement("forget", "TRUNCATE credentials"));
  await opened.database.query(fill, [MANY]);
  const before = await pageOfEach();
  const moved = async () => {
    const now = await pageOfEach();
    return [...before].filter(([uuid, page]) => now.get(uuid) !== page).length;
  };
  const claimed = await createClaims(opened.database, () => undefined).refreshes(MANY);
  expect(claimed).toHaveLength(MANY);
  const byClaim = await moved();
  const { markSent } = createCredentialStore(opened.database);
  expect(await Promise.all(claimed.map((row) => markSent(row, 1)))).not.toContain(false);
  return [byClaim, await moved()];
}

// The mark takes the place of what the claim replaced, unless a transaction that is older than the claim is still
// running, in whatever database of the server: so this waits for a moment without one.
test("a claim and its mark keep the row on its page, so that no index changes", async () => {
  await eventually(async () => {
    const [claim, mark] = await movedByClaimAndMark();
    expect(claim).toBeLessThan(MANY / 10);
    expect(mark).toBeLessThan(MANY / 4);
  });
});
