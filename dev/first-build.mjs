// The build before the first `npm run kit`, where there is none. It is made aside and put in place at once: of two that
// begin together the second finds a whole build there, and leaves it to whom already runs it.
import { spawnSync } from "node:child_process";
import { existsSync, renameSync, rmSync } from "node:fs";
import process from "node:process";

// A sibling, so that what is built finds its sources where its maps say.
const aside = `dist.${process.pid}`;
const run = (command, ...words) =>
  spawnSync(command, words, { stdio: ["ignore", process.stderr, "inherit"] }).status === 0;

process.stderr.write("Building dist/, which is not there yet. This is done once, and may take a minute.\n");
const isBuilt =
  run("npm", "run", "--silent", "generate") && run("tsc", "-p", "tsconfig.build.json", "--outDir", aside);
const putInPlace = () => {
  try {
    renameSync(aside, "dist");
  } catch {
    // Somebody else's, or what a build that was broken off has left.
  }
};
if (isBuilt) putInPlace();
if (isBuilt && !existsSync("dist/kit.js")) {
  rmSync("dist", { recursive: true, force: true });
  putInPlace();
}
rmSync(aside, { recursive: true, force: true });
process.exitCode = existsSync("dist/kit.js") ? 0 : 1;
