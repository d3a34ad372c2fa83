/** Tests run as ES modules (`node --experimental-vm-modules`); swc only strips the types, `npm run types` checks them. */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  extensionsToTreatAsEsm: [".ts", ".tsx"],
  transform: { "\\.tsx?$": "@swc/jest" },
  globalSetup: "<rootDir>/test/support/compile-programs.js",
  testEnvironment: "node",
  // Against hanging only: a slow machine under load is no failure.
  testTimeout: 90_000,
  maxWorkers: 2,
};
