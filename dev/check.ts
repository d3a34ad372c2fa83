import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { CHECK_ENV, checkSettings } from "./check-settings.ts";
import { colours } from "./colours.ts";
import { took } from "./wording.ts";

// `npm run check`: what a change of `src/your-service` is checked by, in the repository of the working folder.

const YOURS = ["src/your-service", "test/your-service"].filter((folder) => existsSync(folder));

const bin = (program: string) => `node_modules/${program}`;
const jest = (...words: string[]) => [
  "--experimental-vm-modules",
  "--no-warnings",
  bin("jest/bin/jest.js"),
  ...words,
];
const dev = (program: string) => ["--import", import.meta.resolve("tsx"), path.resolve(`dev/${program}.ts`)];

/** Each step's commands, for Node; the first that fails ends the step. */
const steps: Record<string, string[][]> = {
  types: [["prisma/generate.mjs"], [bin("typescript-native/bin/tsc"), "-p", "tsconfig.json"]],
  schema: [["prisma/check.mjs"], dev("schema")],
  lint: [
    [bin("eslint/bin/eslint.js"), ...YOURS],
    [bin("prettier/bin/prettier.cjs"), "--check", "--log-level", "warn", "app.json", ...YOURS],
  ],
  "deploy-files": [jest("test/docs/deploy-files.test.ts")],
  tests: [jest("--passWithNoTests", "test/your-service")],
  demo: [dev("demo")],
  conformance: [dev("conformance")],
};

/** The steps that start your service, whose settings a file `.env` in their working folder would change. */
const READS_ENV = new Set(["demo", "conformance"]);

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(steps, name));
if (unknown.length > 0) {
  console.error(`No step is called ${unknown.join(", ")}. The steps are: ${Object.keys(steps).join(", ")}.`);
  process.exit(2);
}

const { environment, isFromDevelopment } = checkSettings();
// Where no `.env` is, for what would read it.
const folder = mkdtempSync(path.join(tmpdir(), "addon-check-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const startedAt = performance.now();
const failed: string[] = [];
for (const name of chosen.length > 0 ? chosen : Object.keys(steps)) {
  const from = performance.now();
  const output = await outputOfFailure(steps[name]!, READS_ENV.has(name) ? folder : ".");
  const mark = output === null ? colours.green("✓") : colours.red("✗");
  console.log(`${mark} ${colours.dim(took(performance.now() - from).padStart(8))}  ${name}`);
  if (output === null) continue;
  failed.push(name);
  console.log(output);
  if (isFromDevelopment && READS_ENV.has(name))
    console.log(`Settings of yours came from .env. To give the check others, write them into ${CHECK_ENV}.`);
}
const time = took(performance.now() - startedAt);
console.log(
  failed.length === 0
    ? colours.green(`All is well, in ${time}.`)
    : colours.red(`Failed, in ${time}: ${failed.join(", ")}. One step alone: npm run check -- ${failed[0]}`),
);
process.exit(failed.length === 0 ? 0 : 1);

/** Runs the commands in order in the folder `cwd`; resolves with all output of the first that fails, or with null if none does. */
async function outputOfFailure(commands: string[][], cwd: string): Promise<string | null> {
  for (const words of commands) {
    const child = spawn(process.execPath, words, {
      ...{ cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    if (code !== 0) return output;
  }
  return null;
}
