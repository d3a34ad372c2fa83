import { aVendorsDatabase, type Scripts } from "../support/migrations.ts";
import { opened } from "../support/world.ts";

// What the script of a migration may contain, and what comes of it when it fails.

const yours = opened(aVendorsDatabase);
afterEach(() => yours.reset());

const failureOf = async (): Promise<{ id: string; message: string }> =>
  yours.run().then(
    ({ applied }) => ({ id: "applied", message: applied.join() }),
    (error: unknown) => error as { id: string; message: string },
  );
const recorded = async () =>
  (
    await yours.rows<{ name: string }>(
      `SELECT migration_name AS name FROM yours._prisma_migrations WHERE finished_at IS NOT NULL ORDER BY 1`,
    )
  ).map(({ name }) => name);
const exists = async (name: string) =>
  (await yours.rows(`SELECT to_regclass('yours.${name}') IS NOT NULL AS found`))[0]!["found"];

describe("each migration begins with the same session,", () => {
  it.each([
    ["a setting", "SET bytea_output = 'escape'", "SELECT current_setting('bytea_output')"],
    ["a dump's search path", "SELECT pg_catalog.set_config('search_path', '', false)", "SELECT 1"],
    [
      "a setting of its own",
      "SET my.word = 'x'",
      "SELECT COALESCE(current_setting('my.word', true), 'none')",
    ],
    ["a role", "CREATE ROLE ROLE_OF_TEST; SET ROLE ROLE_OF_TEST", "SELECT current_user"],
    [
      "a session's role",
      "CREATE ROLE ROLE_OF_TEST; SET SESSION AUTHORIZATION ROLE_OF_TEST",
      "SELECT session_user",
    ],
    [
      "a role of the transaction",
      "CREATE ROLE ROLE_OF_TEST; SET LOCAL ROLE ROLE_OF_TEST",
      "SELECT current_user",
    ],
    ["a channel", "LISTEN news", "SELECT count(*) FROM pg_listening_channels()"],
    ["a temporary table", "CREATE TEMP TABLE seen (id int)", "SELECT to_regclass('pg_temp.seen') IS NULL"],
    ["a prepared statement", "PREPARE one AS SELECT 1", "SELECT count(*) FROM pg_prepared_statements"],
    ["a cursor", "DECLARE one CURSOR WITH HOLD FOR SELECT 1", "SELECT count(*) FROM pg_cursors"],
    ["a lock", "SELECT pg_advisory_lock(17)", "SELECT count(*) FROM pg_locks WHERE objid = 17"],
    ["no lock", "SELECT pg_advisory_unlock_all()", "SELECT 1"],
    [
      "read only",
      "SET default_transaction_read_only = on",
      "SELECT current_setting('transaction_read_only')",
    ],
  ])("whatever the one before left: %s", async (_what, left, look) => {
    const role = `test_role_${process.pid}`;
    await yours.write({ "1_look": `CREATE TABLE seen_1 AS SELECT (${look}) AS it` });
    await yours.run();
    await yours.write({
      "2_leaves": left.replaceAll("ROLE_OF_TEST", role),
      "3_look": `CREATE TABLE seen_3 AS SELECT (${look}) AS it`,
    });
    try {
      expect(await yours.run()).toMatchObject({ applied: ["yours/2_leaves", "yours/3_look"] });
      const seen = (name: string) => yours.rows(`SELECT * FROM yours.${name}`);
      expect(await seen("seen_3")).toEqual(await seen("seen_1"));
      expect(await recorded()).toEqual(["1_look", "2_leaves", "3_look"]);
    } finally {
      await yours.rows(`DROP ROLE IF EXISTS ${role}`);
    }
  });
});

describe("a migration is refused before anything runs, with its file and line,", () => {
  it.each([
    ...[
      "BEGIN",
      "START TRANSACTION",
      "COMMIT",
      "END",
      "ABORT",
      "ROLLBACK",
      "ROLLBACK TO here",
      "SAVEPOINT here",
    ],
    ...[
      "RELEASE SAVEPOINT here",
      "PREPARE TRANSACTION 'x'",
      "COMMIT PREPARED 'x'",
      "commit and chain",
      "Begin",
    ],
    ...["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "/* ; */ COMMIT -- no\n"],
  ])("for %s", async (statement) => {
    await yours.write({
      "1_fine": "CREATE TABLE fine (id int)",
      "2_refused": `CREATE TABLE half (id int);\n\n${statement};\nCREATE TABLE rest (id int);`,
    });
    const shown = statement.replace("/* ; */ ", "").replace(" -- no\n", "");
    const { id, message } = await failureOf();
    expect([id, message]).toEqual([
      "migration_refused",
      expect.stringMatching(
        /^The migration yours\/2_refused was not run\. \S+\/2_refused\/migration\.sql, line 3: /,
      ),
    ]);
    expect(message).toContain(`line 3: ${shown}. Remove this statement`);
    expect(await exists("fine")).toBe(false);
  });

  it.each<[string, string | Buffer]>([
    ["in UTF-16 with a mark", Buffer.from("\ufeffSELECT 1", "utf16le")],
    ["in UTF-16 without", Buffer.from("SELECT 1", "utf16le")],
    ["in Latin 1", Buffer.from("SELECT 'ä'", "latin1")],
  ])("if it is %s", async (_what, script) => {
    await yours.write({ "1_fine": "CREATE TABLE fine (id int)", "2_refused": script });
    expect(await failureOf()).toMatchObject({
      id: "migration_refused",
      message: expect.stringMatching(/2_refused\/migration\.sql is not in UTF-8 .*: save it as UTF-8\.$/),
    });
    expect(await exists("fine")).toBe(false);
  });
});

it.each([
  [
    "in strings",
    `INSERT INTO words VALUES ('; COMMIT;'), (E'\\'; COMMIT;'), ($$; COMMIT;$$), ($a$ $$; COMMIT; $a$)`,
  ],
  ["in comments", `/* COMMIT; /* COMMIT; */ COMMIT; */ INSERT INTO words VALUES ('x') -- ; COMMIT;`],
  ["in names", `ALTER TABLE words ADD COLUMN "; COMMIT; --" int`],
  [
    "in a body",
    `CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT f()`,
  ],
  ["in a block", `DO $do$ BEGIN INSERT INTO words VALUES ('x'); END $do$`],
  ["in a rule", `CREATE RULE r AS ON DELETE TO words DO ALSO (SELECT 1; SELECT 2)`],
  ["as names", `CREATE TABLE "commit" (begin int, "end" int); SELECT begin FROM "commit"`],
])("words and semicolons %s are no statements", async (_what, script) => {
  await yours.write({ "1_words": `\ufeffCREATE TABLE words (word text);\r\n${script}` });
  expect(await yours.run()).toMatchObject({ applied: ["yours/1_words"] });
});

it("one that ends its transaction unseen is not recorded as applied", async () => {
  await yours.write({
    "1_unseen": `SET standard_conforming_strings = off;\nSELECT '\\''; COMMIT; SELECT '\\'';`,
  });
  expect(await failureOf()).toMatchObject({
    id: "migration_failed",
    message: expect.stringMatching(/it ended the transaction .*, line 2: SELECT/),
  });
  expect(await recorded().catch(() => [])).toEqual([]);
});

it.each<[string, Scripts, string | RegExp]>([
  [
    "at a value",
    { "1_fails": "CREATE TABLE a (id int);\n-- Why.\nSELECT 1 /\n  0;" },
    /^the migration yours\/1_fails failed: division by zero\. \S+\/1_fails\/migration\.sql, line 3: SELECT 1 \/ 0\.$/,
  ],
  [
    "at a word",
    { "1_fails": "CREATE TABLE a (id int);\r\nSELECT 1,\r\n  'ä😀', nonsense;" },
    /"nonsense" does not exist\. \S+, line 2: SELECT 1, 'ä😀', nonsense \(the error is in line 3\)\.$/,
  ],
  [
    "with a detail",
    { "1_fails": "CREATE TABLE a (id int UNIQUE);\nINSERT INTO a VALUES (1), (1)" },
    /line 2: INSERT INTO a VALUES \(1\), \(1\)\. Detail: Key \(id\)=\(1\) already exists\.$/,
  ],
  [
    "with a hint",
    { "1_fails": "SELECT lenght('x')" },
    /line 1: SELECT lenght\('x'\)\. (Detail: .*)?Hint: No function matches .* casts\.$/,
  ],
  [
    "in a block",
    { "1_fails": "DO $$ BEGIN\n  RAISE EXCEPTION 'no teapot';\nEND $$" },
    /no teapot\. .* line 1: DO .*Context: PL\/pgSQL function inline_code_block line 2 at RAISE\.$/,
  ],
  [
    "at the end",
    {
      "1_fails":
        "CREATE TABLE a (id int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO a VALUES (1), (1)",
    },
    /^the migration yours\/1_fails failed: duplicate key .*Detail: Key \(id\)=\(1\) already exists\.$/,
  ],
  ...["CREATE INDEX CONCURRENTLY i ON a (id)", "DROP INDEX CONCURRENTLY IF EXISTS i", "VACUUM"].map(
    (statement): [string, Scripts, RegExp] => [
      statement,
      { "1_fails": `CREATE TABLE a (id int);\n${statement}` },
      /cannot run inside a transaction block\. .*line 2: .* its own whose first line is "-- not in a transaction"/,
    ],
  ),
  [
    "that commits in a block",
    { "1_fails": "DO $$ BEGIN COMMIT; END $$" },
    /^the migration yours\/1_fails failed: invalid transaction termination\. .*"-- not in a transaction"/,
  ],
  [
    "that uses a new value",
    {
      "1_type": "CREATE TYPE mood AS ENUM ('ok')",
      "2_fails": "ALTER TYPE mood ADD VALUE 'sad';\nSELECT 'sad'::mood",
    },
    /unsafe use of new value .*line 2: SELECT 'sad'::mood\. .*into another migration, after this one\.$/,
  ],
])("a statement that fails is named: %s", async (_what, scripts, message) => {
  await yours.write(scripts);
  expect(await failureOf()).toEqual(
    expect.objectContaining({ id: "migration_failed", message: expect.stringMatching(message) }),
  );
  expect(await exists("a")).toBe(false);
});

describe("one whose first line is -- not in a transaction", () => {
  const OUTSIDE = "-- not in a transaction\n";
  const table = { "1_table": "CREATE TABLE teapots (id int)" };
  const validity = async (name: string) =>
    (
      await yours.rows(
        `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('yours.${name}')`,
      )
    )[0];

  it.each<[string, string, Scripts?]>([
    ["CREATE INDEX CONCURRENTLY", "CREATE INDEX CONCURRENTLY i ON teapots (id)"],
    [
      "several statements",
      "SET maintenance_work_mem = '8MB'; CREATE INDEX CONCURRENTLY i ON teapots (id); VACUUM teapots",
    ],
    [
      "DROP and CREATE",
      "DROP INDEX CONCURRENTLY IF EXISTS i;\nCREATE INDEX CONCURRENTLY i ON yours.teapots (id);",
    ],
    ["REINDEX", "REINDEX TABLE CONCURRENTLY teapots"],
    ["a block that commits", "DO $$ BEGIN INSERT INTO teapots VALUES (1); COMMIT; END $$"],
    ["a role", "SET ROLE pg_monitor; SELECT 1"],
    ["CRLF", "\r\nVACUUM teapots;\r\n"],
    [
      "DETACH PARTITION CONCURRENTLY",
      "ALTER TABLE pots DETACH PARTITION pots_1 CONCURRENTLY",
      {
        "1_table":
          "CREATE TABLE pots (id int) PARTITION BY LIST (id); CREATE TABLE pots_1 PARTITION OF pots FOR VALUES IN (1)",
      },
    ],
    [
      "a value that is used at once",
      "ALTER TYPE mood ADD VALUE 'sad'; SELECT 'sad'::mood",
      { "1_table": "CREATE TYPE mood AS ENUM ('ok')" },
    ],
  ])("is applied: %s", async (_what, script, before = table) => {
    await yours.write({ ...before, "2_outside": OUTSIDE + script, "3_after": "CREATE TABLE after (id int)" });
    expect(await yours.run()).toMatchObject({
      applied: ["yours/1_table", "yours/2_outside", "yours/3_after"],
    });
    expect(await yours.run()).toMatchObject({ applied: [] });
    expect(await yours.rows(`SELECT 1 FROM yours._prisma_migrations WHERE finished_at IS NULL`)).toEqual([]);
  });

  it("is refused if it ends a transaction, or makes an index without a name", async () => {
    for (const statement of ["BEGIN", "CREATE INDEX CONCURRENTLY ON teapots (id)"]) {
      await yours.write({ ...table, "2_refused": OUTSIDE + statement });
      expect(await failureOf()).toMatchObject({
        id: "migration_refused",
        message: expect.stringContaining(`migration.sql, line 2: ${statement}. `),
      });
    }
    expect(await exists("teapots")).toBe(false);
  });

  it.each(["", "IF NOT EXISTS "])(
    "and makes an index CONCURRENTLY %sthat another try left invalid, makes it again",
    async (unless) => {
      await yours.write({
        "1_table": "CREATE TABLE teapots (id int); INSERT INTO teapots VALUES (1), (1)",
        "2_outside": `${OUTSIDE}CREATE UNIQUE INDEX CONCURRENTLY ${unless}"The pots" ON yours.teapots (id)`,
      });
      for (const _ of [1, 2]) {
        expect(await failureOf()).toMatchObject({
          id: "migration_failed",
          message: expect.stringMatching(
            /could not create unique index "The pots"\. .*, line 2: .*Detail: Key/,
          ),
        });
        expect(await validity('"The pots"')).toEqual({ valid: false });
      }
      await yours.rows("DELETE FROM yours.teapots");
      expect(await yours.run()).toMatchObject({ applied: ["yours/2_outside"] });
      expect(await validity('"The pots"')).toEqual({ valid: true });
    },
  );

  it("does not take an index that was there for its own", async () => {
    await yours.write({
      "1_table": "CREATE TABLE teapots (id int, size int); CREATE INDEX i ON teapots (size)",
      "2_outside": `${OUTSIDE}CREATE INDEX CONCURRENTLY i ON teapots (id)`,
    });
    for (const _ of [1, 2])
      expect(await failureOf()).toMatchObject({
        message: expect.stringContaining('relation "i" already exists'),
      });
    expect(await recorded()).toEqual(["1_table"]);
  });

  it("and failed midway goes on, although its first statements were applied", async () => {
    await yours.write({
      ...table,
      "2_outside": `${OUTSIDE}CREATE INDEX CONCURRENTLY i ON teapots (id); CREATE UNIQUE INDEX CONCURRENTLY j ON teapots (id)`,
    });
    await yours.write({ "1_table": "CREATE TABLE teapots (id int); INSERT INTO teapots VALUES (1), (1)" });
    for (const _ of [1, 2])
      expect(await failureOf()).toMatchObject({ message: expect.stringContaining('unique index "j"') });
    await yours.rows("DELETE FROM yours.teapots");
    expect(await yours.run()).toMatchObject({ applied: ["yours/2_outside"] });
    expect([await validity("i"), await validity("j")]).toEqual([{ valid: true }, { valid: true }]);
  });
});

it("an index that somebody made by hand and that is invalid is made again, although the migration says IF NOT EXISTS", async () => {
  await yours.write({ "1_table": "CREATE TABLE teapots (id int); INSERT INTO teapots VALUES (1), (1)" });
  await yours.run();
  await expect(yours.rows("CREATE UNIQUE INDEX CONCURRENTLY i ON yours.teapots (id)")).rejects.toThrow("i");
  await yours.write({ "2_index": "CREATE INDEX IF NOT EXISTS i ON teapots (id)" });
  expect(await yours.run()).toMatchObject({ applied: ["yours/2_index"] });
  expect(
    await yours.rows(
      "SELECT indisunique AS u, indisvalid AS v FROM pg_index WHERE indexrelid = 'yours.i'::regclass",
    ),
  ).toEqual([{ u: false, v: true }]);
});
