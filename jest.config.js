import { availableParallelism, totalmem } from "node:os";
import process from "node:process";

/** What a worker's process grows to. */
const BYTES_OF_A_WORKER = 0.5e9;
// Tests mostly wait (for the database, another process, a moment that is due), so several share a processor.
const most = 3 * availableParallelism();
// Jest starts all workers before the first test, also for one file.
const isOneFile = process.argv.filter((word) => word.endsWith(".test.ts")).length === 1;

/** All tests. They run as ES modules; esbuild, which tsx brings, strips the types; `npm run types` checks them. */
export default {
  testMatch: ["<rootDir>/{test,packages/*/test}/**/*.test.ts"],
  extensionsToTreatAsEsm: [".ts", ".tsx"],
  transform: { "\\.tsx?$": "<rootDir>/test/support/compile.js" },
  // An example is tested where it lies, and not where it will be copied to.
  moduleNameMapper: { "^\\.\\./(offer\\.ts|signal\\.ts|parts/cards\\.tsx)$": "<rootDir>/src/$1" },
  globalSetup: "<rootDir>/test/support/global-setup.js",
  globalTeardown: "<rootDir>/test/support/global-teardown.js",
  testSequencer: "<rootDir>/test/support/longest-first.js",
  testEnvironment: "node",
  // Against hanging only: a slow machine under load is no failure.
  testTimeout: 300_000,
  maxWorkers: isOneFile ? 1 : Math.max(Math.min(most, Math.floor(totalmem() / 2 / BYTES_OF_A_WORKER)), 2),
  // Of a worker that has nothing open, the system takes up to a second to free its memory. Jest's own limit is half a
  // second; it then says "failed to exit gracefully" of sound tests. What a test leaves open is still named after this.
  workerGracefulExitTimeout: 10_000,
  // A process grown big is begun anew.
  workerIdleMemoryLimit: "500MB",
};
