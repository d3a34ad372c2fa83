import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type * as Bindings from "@prisma/schema-engine-wasm/schema_engine_bg";

/** Node has this global; the types of Node 20 lack it. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Exports } }>;
};

type Exports = { __wbindgen_start(): void };
type Engine = typeof Bindings & { __wbg_set_wasm(exports: Exports): void };

const NAME = "@prisma/schema-engine-wasm/schema_engine_bg";
const WASM = path.join(path.dirname(createRequire(import.meta.url).resolve(NAME)), "schema_engine_bg.wasm");

/**
 * Prisma's schema engine, in its WebAssembly build. The package's own entry imports the `.wasm` file, which Node does
 * not support, so the module is instantiated here.
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

/**
 * Unrefs the timer with which the engine watches over its lock: never cleared, it would keep a process alive for 10 s.
 */
function withoutLingering(engine: object): object {
  const entries = Object.entries(engine).map(([name, value]) =>
    name.startsWith("__wbg_setTimeout_") ? [name, unrefTimeout] : [name, value],
  );
  return Object.fromEntries(entries) as object;
}

function unrefTimeout(work: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(work, ms).unref();
}
