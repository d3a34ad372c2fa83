import { afterEach, describe, expect, it } from "@jest/globals";
import { openDatabase } from "../../src/database/database.ts";
import { encoding as look } from "../../src/operator/doctor/database-checks.ts";
import type { Services } from "../../src/services.ts";
import { kit, kitJson } from "../kit/kit.ts";
import { administer, databaseUrl, testServerUrl } from "../support/database.ts";

const onPostgresql = testServerUrl ? describe : describe.skip;

onPostgresql("kit migrate on a database whose encoding is not UTF-8", () => {
  const name = `addon_encoding_${process.pid}`;
  const make = async (encoding: string) => {
    await administer(testServerUrl!, (ask) =>
      ask(`CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`),
    );
    return databaseUrl(testServerUrl!, name);
  };
  afterEach(() => administer(testServerUrl!, (ask) => ask(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)));
  const tables = (url: string) =>
    administer(url, (ask) => ask(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`));
  const checkUp = async (url: string) => {
    const db = await openDatabase({ url, dataDir: "unused", role: "guest", poolSize: 1 });
    return look({ db } as Services).finally(() => db.close());
  };

  it.each(["LATIN1", "EUC_JP"])("refuses %s before it creates anything", async (encoding) => {
    const url = await make(encoding);
    const { code, stderr } = await kit({ DATABASE_URL: url }, ["migrate"]);
    expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringContaining(`text as ${encoding}`) });
    expect(stderr).toContain("UTF8");
    expect(await tables(url)).toEqual([]);
    expect(await checkUp(url)).toMatchObject({ ok: false, fix: expect.stringContaining("ENCODING 'UTF8'") });
  });

  it("still migrates one that was migrated before, and kit doctor reports the fault", async () => {
    const url = await make("LATIN1");
    await administer(url, (ask) =>
      ask(`CREATE TABLE _prisma_migrations (id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL,
        finished_at TIMESTAMPTZ, migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
        started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`),
    );
    expect(await kitJson({ DATABASE_URL: url }, ["migrate"])).toMatchObject({ code: 0 });
    expect((await checkUp(url)).ok).toBe(false);
  });

  it("accepts SQL_ASCII, which keeps bytes unchanged, and kit doctor warns", async () => {
    const url = await make("SQL_ASCII");
    expect(await kitJson({ DATABASE_URL: url }, ["migrate"])).toMatchObject({ code: 0 });
    expect(await checkUp(url)).toMatchObject({ ok: true, fix: expect.stringContaining("UTF8") });
  });
});
