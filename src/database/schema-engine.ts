import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { SchemaEngine } from "@prisma/schema-engine-wasm";
import pg from "pg";

/**
 * Prisma's own schema engine, the one behind `prisma migrate`, in its WebAssembly build: it needs no binary and no
 * Prisma command line, and keeps `_prisma_migrations` as they do.
 */

/** Node has it; the types of Node 20 do not. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: object,
  ): Promise<{ instance: { exports: Record<string, unknown> } }>;
};

type Engine = typeof import("@prisma/schema-engine-wasm/schema_engine_bg");

let loading: Promise<Engine> | undefined;

/** Node does not load `.wasm` from an `import`, as the package's entry does: it is put together by hand, once. */
function loadEngine(): Promise<Engine> {
  loading ??= (async () => {
    const name = "@prisma/schema-engine-wasm/schema_engine_bg";
    const engine = (await import(name)) as Engine & { __wbg_set_wasm(exports: unknown): void };
    const file = path.join(
      path.dirname(createRequire(import.meta.url).resolve(name)),
      "schema_engine_bg.wasm",
    );
    const { instance } = await WebAssembly.instantiate(await readFile(file), {
      "./schema_engine_bg.js": engine as never,
    });
    engine.__wbg_set_wasm(instance.exports);
    (instance.exports["__wbindgen_start"] as () => void)();
    return engine;
  })();
  return loading;
}

/** Runs `work` with an engine on the database at `address`. */
export async function withSchemaEngine<T>(
  address: pg.PoolConfig,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  const { SchemaEngine } = await loadEngine();
  // One connection: the engine's advisory lock belongs to the connection that took it.
  const pool = new pg.Pool({
    application_name: "addon-migrate",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    ...address,
    max: 1,
  });
  pool.on("error", () => undefined);
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(wholeScripts(new PrismaPg(pool), pool));
    const engine = await SchemaEngine.new({ datamodels: undefined }, () => undefined, adapter);
    try {
      return await work(engine);
    } finally {
      engine.free();
    }
  } finally {
    await pool.end();
  }
}

/**
 * The adapter cuts a migration at each semicolon, also at those in comments, strings and function bodies. Sent whole,
 * PostgreSQL does the cutting, and runs it in one transaction: a migration that fails leaves nothing half done.
 */
function wholeScripts(factory: PrismaPg, pool: pg.Pool): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connectToShadowDb: () => factory.connectToShadowDb(),
    connect: async () => {
      const adapter = await factory.connect();
      adapter.executeScript = async (script) => void (await pool.query(script));
      return adapter;
    },
  };
}
