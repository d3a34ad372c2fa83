import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it } from "@jest/globals";
import pg from "pg";
import { statement } from "../../src/database/database.ts";
import { makeOlderTokensDue, unspreadSecret } from "../../src/credentials/secret-store.ts";
import { createStoreTokens } from "../../src/credentials/store.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase();

const ask = <Row>(name: string, text: string) => opened.database.query<Row>(statement(name, text));
/** One pass over all tokens; null: none is to be made. */
async function pass() {
  const secret = await unspreadSecret(opened.database);
  return secret && makeOlderTokensDue(opened.database, secret);
}
const addSecret = (version: number) =>
  ask(
    `make_secret_${version}`,
    `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (${version}, '\\x0${version}', '\\x01')`,
  );
const elevenSecondsPass = () =>
  ask("later", `UPDATE client_secrets SET created_at = created_at - interval '11 seconds'`);
const notDue = () => ask("not_due", `SELECT uuid FROM credentials WHERE due_at > now()`);

beforeEach(() => ask("forget_all", "TRUNCATE credentials, client_secrets"));

it("two processes that start together make older tokens due for a new client secret", async () => {
  await ask(
    "make_credentials",
    `INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, due_at, secret_version)
       SELECT md5(i::text)::uuid, 'active', '\\x01', '\\x01', now() + interval '4 hours', 1 FROM generate_series(1, 6000) i`,
  );
  await addSecret(1);
  await addSecret(2);
  await Promise.all([pass(), pass()]);
  expect(await notDue()).toEqual([]);
  await elevenSecondsPass();
  expect(await pass()).toEqual({ due: 0, isWhole: true });
  expect(await pass()).toBeNull();
});

it("a row that is locked, and a token that is stored behind it, are made due by a later pass", async () => {
  const [held, behind] = ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"];
  await addSecret(1);
  await ask(
    "make_both",
    `INSERT INTO credentials (uuid, state, sealed_refresh_token, due_at, secret_version)
       VALUES ('${held}', 'active', '\\x01', now() + interval '1 hour', 1), ('${behind}', 'active', '\\x01', now() + interval '1 hour', 1)`,
  );
  const other = new pg.Client({ connectionString: opened.settings.url! });
  await other.connect();
  await other.query(`BEGIN; SELECT 1 FROM credentials WHERE uuid = '${held}' FOR UPDATE`);
  const storeTokens = createStoreTokens(opened.database);
  const tokens = {
    ...{ lease: 0, first: false, access: Buffer.from("01", "hex"), refresh: null, replaces: null },
    ...{ lifeSeconds: 28_800, share: 0.5, secretVersion: 1, flags: "" },
  };
  const stored = Promise.all([held, behind].map((uuid) => storeTokens({ ...tokens, uuid: uuid! })));
  await sleep(200);
  await addSecret(2);
  await elevenSecondsPass();
  expect(await pass()).toMatchObject({ isWhole: false });
  await other.query("COMMIT");
  await other.end();
  expect(await stored).toEqual([true, true]);
  expect(await pass()).toMatchObject({ isWhole: true });
  expect(await notDue()).toEqual([]);
  expect(await pass()).toBeNull();
});
