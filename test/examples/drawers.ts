import { randomBytes } from "node:crypto";
import pg from "pg";
import { addonManifest } from "../../src/offer.ts";
import { offer } from "../../examples/postgres-product/your-service/plans.ts";
import { SALT } from "../people/customers.ts";
import { administer, databaseUrl, testServerUrl } from "../support/database.ts";
import { aProcessWorld } from "../support/process-world.ts";
import { programsSelling } from "../support/program.ts";

/**
 * A platform, a database of the kit, one of the vendor's product, and the service as processes: the kit's, with
 * `examples/postgres-product` copied over `src/your-service`.
 */
export async function aWorldOfDrawers() {
  const product = await onServer(testServerUrl());
  const life = await aProcessWorld({
    programs: await programsSelling("examples/postgres-product/your-service"),
    sandbox: { addonManifest: addonManifest("drawers", offer), ssoSalt: SALT },
    environment: {
      SWEEP_CRON: "* * * * * *",
      SSO_SALT: SALT,
      PRODUCT_DATABASE_URL: product.url,
      PRODUCT_PASSWORD_KEY: randomBytes(24).toString("hex"),
    },
  });

  return {
    ...life,
    /** Rows of the product's database, read as its vendor. */
    rows: <Row>(text: string, values: unknown[] = []) => as<Row>(product.url, text, values),
    async close() {
      await life.killAll();
      await life.world.close();
      await product.close();
    },
  };
}

/** Rows of a statement, run on a connection of its own with this URL. */
export async function as<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** A database on the server, and a role for its vendor that is not a superuser. */
async function onServer(serverUrl: string) {
  const name = `drawers_${randomBytes(5).toString("hex")}`;
  const ask = (...texts: string[]) =>
    administer(serverUrl, async (one) => {
      for (const text of texts) await one(text);
    });
  await ask(
    `CREATE ROLE ${name} LOGIN CREATEROLE PASSWORD 'vendor'`,
    `CREATE DATABASE ${name} OWNER ${name}`,
  );
  return {
    url: Object.assign(new URL(databaseUrl(serverUrl, name)), { username: name, password: "vendor" }).href,
    close: () =>
      administer(serverUrl, async (one) => {
        await one(`DROP DATABASE ${name} WITH (FORCE)`);
        const drawers = await one(
          `SELECT DISTINCT m.rolname FROM pg_auth_members a JOIN pg_roles m ON m.oid = a.roleid
             JOIN pg_roles v ON v.oid = a.member WHERE v.rolname = '${name}'`,
        );
        for (const { rolname } of drawers) await one(`DROP ROLE ${String(rolname)}`);
        await one(`DROP ROLE ${name}`);
      }),
  };
}
