import pg from "pg";
import { statement } from "../../src/database/database.ts";
import { makeOlderTokensDue } from "../../src/credentials/store.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase();

const ask = <Row>(name: string, text: string) => opened.database.query<Row>(statement(name, text));
const pass = () => makeOlderTokensDue(opened.database);
const elevenSecondsPass = () =>
  ask(
    "later",
    `UPDATE client_secrets SET created_at = created_at - interval '11 seconds', spread_at = spread_at - interval '11 seconds'`,
  );
const notDue = () => ask("not_due", `SELECT uuid FROM credentials WHERE due_at > now()`);

beforeEach(async () => {
  await ask("forget_all", "TRUNCATE credentials, client_secrets");
  await ask(
    "make_credentials",
    `INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, due_at, secret_version)
       SELECT md5(i::text)::uuid, 'active', '\\x01', '\\x01', now() + interval '4 hours', 1 FROM generate_series(1, 6000) i`,
  );
  await ask(
    "make_secrets",
    `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (1, '\\x01', '\\x01'), (2, '\\x02', '\\x01')`,
  );
});

it("two processes that start together make older tokens due for a new client secret, once", async () => {
  await Promise.all([pass(), pass()]);
  expect(await notDue()).toEqual([]);
  await ask("refreshed_meanwhile", `UPDATE credentials SET due_at = now() + interval '1 hour', attempts = 1`);
  expect(await pass()).toBe(0);
  await elevenSecondsPass();
  expect([await pass(), await pass()]).toEqual([0, 0]);
});

it("rows that are locked, or stored by a statement that began before, are made due by a later pass", async () => {
  const other = new pg.Client({ connectionString: opened.settings.url! });
  await other.connect();
  await other.query(`BEGIN; SELECT 1 FROM credentials WHERE uuid = md5('1')::uuid FOR UPDATE`);
  expect(await pass()).toBe(5_999);
  await elevenSecondsPass();
  expect(await pass()).toBe(0);
  await other.query("COMMIT");
  await other.end();
  await ask(
    "stored_late",
    `UPDATE credentials SET due_at = now() + interval '1 hour' WHERE uuid = md5('2')::uuid`,
  );
  expect(await pass()).toBe(2);
  expect(await notDue()).toEqual([]);
  expect(await pass()).toBe(0);
});
