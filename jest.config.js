import { availableParallelism, totalmem } from "node:os";
import process from "node:process";

/** A file's process with its own PostgreSQL in WebAssembly takes about this much. */
const BYTES_OF_A_FILE = 1.5e9;
// Half of a file's time is spent waiting: two at once for each processor, as far as they find room. With three, tests came
// too late on a slow machine. A server has 100 connections where nobody gave it more, and a file may take thirty of them.
const most = process.env["TEST_DATABASE_URL"] ? 2 : 2 * availableParallelism();

/**
 * Tests run as ES modules (`node --experimental-vm-modules`); swc only strips the types, `npm run types` checks them.
 * With `--liftoff-only`, V8 compiles WebAssembly once and does not optimise it afterwards: a file's PostgreSQL lives for
 * seconds, and optimising it took a quarter of the file's processor time.
 */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  extensionsToTreatAsEsm: [".ts", ".tsx"],
  transform: { "\\.tsx?$": "@swc/jest" },
  globalSetup: "<rootDir>/test/support/global-setup.js",
  globalTeardown: "<rootDir>/test/support/global-teardown.js",
  testEnvironment: "node",
  // Against hanging only: a slow machine under load is no failure.
  testTimeout: 90_000,
  maxWorkers: Math.max(Math.min(most, Math.floor(totalmem() / BYTES_OF_A_FILE)), 2),
  // A process grown big is begun anew.
  workerIdleMemoryLimit: "1GB",
};
