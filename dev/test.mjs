// `npm test`: the types, and at the same time the tests that a change is checked by. `npm run test:rest`: the same with
// lint and all other tests. What is wrong with the types, or what lint finds, is shown at the end.
import "../prisma/generate.mjs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { text } from "node:stream/consumers";

const words = process.argv.slice(2);
const isRest = words[0] === "rest";
if (isRest) words.shift();
const check = isRest ? ["dev/lint.mjs"] : ["node_modules/typescript-native/bin/tsc", "-p", "tsconfig.json"];
const config = isRest ? "jest.rest.config.js" : "jest.quick.config.js";
// The young objects of a test run are many: with more room for them, a twentieth less of the processor is needed.
const jest = [
  "--max-semi-space-size=32",
  "--experimental-vm-modules",
  "--no-warnings",
  "node_modules/jest/bin/jest.js",
];

const checking = spawn(process.execPath, check, { stdio: ["ignore", "pipe", "pipe"] });
const testing = spawn(process.execPath, [...jest, "--config", config, ...words], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => [checking, testing].map((child) => child.kill(signal)));

const found = Promise.all([text(checking.stdout), text(checking.stderr), once(checking, "close")]);
const [tests, signal] = await once(testing, "close");
if (signal !== null) checking.kill();
const [output, complaint, [wrong]] = await found;
if (wrong !== 0) process.stderr.write(output + complaint);
process.exitCode = wrong === 0 ? (tests ?? 1) : 1;
