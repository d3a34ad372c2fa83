import { expect, it } from "@jest/globals";
import { statement } from "../../src/database/database.ts";
import { createSecretSpread } from "../../src/resources/credentials/secret-spread.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const onPostgresql = process.env["TEST_DATABASE_URL"] ? it : it.skip;

const opened = anOpenDatabase();

const ask = <Row>(name: string, text: string) => opened.database.query<Row>(statement(name, text));

onPostgresql(
  "a new client secret is spread once by two processes that begin at the same moment (needs PostgreSQL)",
  async () => {
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
  },
);
