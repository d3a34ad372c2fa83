import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type * as Bindings from "@prisma/schema-engine-wasm/schema_engine_bg";

/** Node has it; the types of Node 20 do not. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Exports } }>;
};

type Exports = { __wbindgen_start(): void };
type Engine = typeof Bindings & { __wbg_set_wasm(exports: Exports): void };

const NAME = "@prisma/schema-engine-wasm/schema_engine_bg";
const WASM = path.join(path.dirname(createRequire(import.meta.url).resolve(NAME)), "schema_engine_bg.wasm");

/**
 * Prisma's schema engine, in its WebAssembly build. Node does not load `.wasm` from an `import`, as the package's own
 * entry does: it is put together by hand.
 */
export async function loadSchemaEngine(): Promise<typeof Bindings> {
  const engine = (await import(NAME)) as Engine;
  const { instance } = await WebAssembly.instantiate(await readFile(WASM), {
    "./schema_engine_bg.js": withoutLingering(engine),
  });
  engine.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return engine;
}

/** The engine's watch over its lock would keep a finished process alive for 10 seconds: it never stops that timer. */
function withoutLingering(engine: object): object {
  const entries = Object.entries(engine).map(([name, value]) =>
    name.startsWith("__wbg_setTimeout_") ? [name, unrefTimeout] : [name, value],
  );
  return Object.fromEntries(entries) as object;
}

function unrefTimeout(work: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(work, ms).unref();
}
