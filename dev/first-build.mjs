// Builds dist/ before the first `npm run kit`, if there is none. The build is made in a folder of its own and then
// renamed, so that of two builds at the same time the second finds a complete one and leaves it to the process that may
// already run it.
import { spawnSync } from "node:child_process";
import { existsSync, renameSync, rmSync } from "node:fs";
import process from "node:process";

const COMPILER = "node_modules/typescript-native/bin/tsc";
// A sibling of dist/, so that source maps find the sources.
const aside = `dist.${process.pid}`;
const run = (...words) =>
  spawnSync(process.execPath, words, { stdio: ["ignore", process.stderr, "inherit"] }).status === 0;

process.stderr.write("Building dist/, which is not there yet. This is done once, and may take a minute.\n");
const isBuilt =
  run("prisma/generate.mjs") &&
  run(COMPILER, "-p", "tsconfig.build.json", "--outDir", aside) &&
  run("dev/finish-build.mjs", aside);
const putInPlace = () => {
  try {
    renameSync(aside, "dist");
  } catch {
    // Another process put its build there, or an interrupted build left a part of one.
  }
};
if (isBuilt) putInPlace();
if (isBuilt && !existsSync("dist/kit.js")) {
  rmSync("dist", { recursive: true, force: true });
  putInPlace();
}
rmSync(aside, { recursive: true, force: true });
process.exitCode = existsSync("dist/kit.js") ? 0 : 1;
