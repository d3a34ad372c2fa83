import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import pg from "pg";
import { statement, type Queryable } from "../../src/database/database.ts";
import { createSecretSpread } from "../../src/credentials/secret-spread.ts";
import { createCredentialStore } from "../../src/credentials/store.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase();

const ask = <Row>(name: string, text: string) => opened.database.query<Row>(statement(name, text));

it("two processes that start together make older tokens due for a new client secret once", async () => {
  await ask(
    "make_resources",
    `INSERT INTO resources (uuid, plan, applied_plan, state)
       SELECT md5(i::text)::uuid, 'basic', 'basic', 'provisioned' FROM generate_series(1, 6000) i`,
  );
  await ask(
    "make_credentials",
    `INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, due_at, secret_version)
       SELECT md5(i::text)::uuid, 'active', '\\x01', '\\x01', now() + interval '4 hours', 1 FROM generate_series(1, 6000) i`,
  );
  await ask(
    "make_secrets",
    `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (1, '\\x01', '\\x01'), (2, '\\x02', '\\x02')`,
  );
  await Promise.all([createSecretSpread(opened.database)(), createSecretSpread(opened.database)()]);
  expect(await ask("unspread", `SELECT version FROM client_secrets WHERE spread_at IS NULL`)).toEqual([]);
  expect(await ask("not_due", `SELECT uuid FROM credentials WHERE due_at > now()`)).toEqual([]);
});

it("a token whose storing waits for a locked row while a new client secret is set is made due a little later", async () => {
  const [held, behind] = ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"];
  await ask("forget_credentials", "TRUNCATE credentials, client_secrets");
  await ask(
    "make_secret",
    `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (1, '\\x01', '\\x01')`,
  );
  await ask(
    "make_both",
    `INSERT INTO credentials (uuid, state, sealed_refresh_token, due_at, secret_version)
       VALUES ('${held}', 'active', '\\x01', now(), 1), ('${behind}', 'active', '\\x01', now(), 1)`,
  );
  await createSecretSpread(opened.database)();
  const other = new pg.Client({ connectionString: opened.settings.url! });
  await other.connect();
  await other.query(`BEGIN; SELECT 1 FROM credentials WHERE uuid = '${held}' FOR UPDATE`);
  const { storeTokens } = createCredentialStore(opened.database);
  const tokens = {
    ...{ lease: 0, first: false, access: Buffer.from("01", "hex"), refresh: null, replaces: null },
    ...{ lifeSeconds: 28_800, share: 0.5, secretVersion: 1, flags: [] },
  };
  const stored = Promise.all([held, behind].map((uuid) => storeTokens({ ...tokens, uuid: uuid! })));
  await sleep(200);
  await ask(
    "make_newer_secret",
    `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (2, '\\x02', '\\x02')`,
  );
  const spread = createSecretSpread(opened.database)();
  await sleep(200);
  await other.query("COMMIT");
  await other.end();
  expect(await stored).toEqual([true, true]);
  await spread;
  const later = "interval '1 minute'";
  await ask(
    "later",
    `UPDATE client_secrets SET created_at = created_at - ${later}, spread_at = spread_at - ${later}`,
  );
  await createSecretSpread(opened.database)();
  expect(await ask("none_due", `SELECT uuid FROM credentials WHERE due_at > now()`)).toEqual([]);
  // The pass is complete.
  expect(await createSecretSpread(opened.database)()).toBe(0);
});

it("older tokens are made due a second time when the first pass took long", async () => {
  await ask("forget_all", "TRUNCATE credentials, client_secrets");
  await ask(
    "make_both_secrets",
    `INSERT INTO client_secrets (version, sealed_secret, hash, created_at)
     VALUES (1, '\\x01', '\\x01', now() - interval '1 day'), (2, '\\x02', '\\x02', now() - interval '7 seconds')`,
  );
  const slow: Queryable = {
    query: async (asked, values) => {
      if (asked.name === "mark_secret_spread") await sleep(3_500);
      return opened.database.query(asked, values);
    },
  };
  await createSecretSpread(slow)();
  await ask(
    "make_late_one",
    `INSERT INTO credentials (uuid, state, sealed_refresh_token, due_at, secret_version)
     VALUES ('00000000-0000-0000-0000-00000000000c', 'active', '\\x01', now() + interval '4 hours', 1)`,
  );
  expect(await createSecretSpread(opened.database)()).toBe(1);
  expect(await createSecretSpread(opened.database)()).toBe(0);
}, 30_000);

it("the pass resumes where it was stopped, or where the database failed", async () => {
  const begunAt: unknown[] = [];
  const stopping = new AbortController();
  const pages: (() => object)[] = [
    () => (stopping.abort(), { due: 2, held: [], last: "b" }),
    () => {
      throw new Error("The page took too long.");
    },
    () => ({ due: 1, held: [], last: "c" }),
    () => ({ due: 0, held: ["h"], last: null }),
  ];
  const isLocked = Object.assign(new Error("It waited too long for a lock."), {
    code: "55P03",
    severity: "ERROR",
  });
  const waits: (() => object[])[] = [
    () => {
      throw isLocked;
    },
    () => [{ uuid: "h" }],
  ];
  const answers: Record<string, (values: unknown[]) => object[]> = {
    read_unspread_secret: () => [{ version: 2, isAgain: false, beganAt: "then" }],
    make_older_tokens_due: ([, after]) => (begunAt.push(after), [pages.shift()!()]),
    make_held_tokens_due: () => waits.shift()!(),
    mark_secret_spread: (values) => [values],
  };
  const marked: unknown[] = [];
  const db = {
    async query({ name }: { name: string }, values: unknown[]) {
      if (name === "mark_secret_spread") marked.push(...values);
      return answers[name]!(values);
    },
  } as unknown as Queryable;
  const spread = createSecretSpread(db);
  expect(await spread(stopping.signal)).toBe(2);
  await expect(spread()).rejects.toThrow("too long");
  expect(marked).toEqual([]);
  expect(await spread()).toBe(1);
  expect(marked).toEqual([]);
  expect(await spread()).toBe(1);
  expect(begunAt.slice(1)).toEqual(["b", "b", "c"]);
  expect(marked).toEqual([2, "then"]);
});
