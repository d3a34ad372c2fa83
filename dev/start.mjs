// `npm start`, `npm run worker` and `npm run kit`: runs what was built, in this very process, on any
// system. Where dev/ is not deployed, the copy in dist/ does it. `kit` is built first if there is no build; of one that is older than its sources it warns.
import "./npm-shell.mjs";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const [, name, ...words] = process.argv;
const program = path.resolve(`dist/${name}.js`);
if (name === "kit") {
  if (!existsSync(program)) {
    const { status } = spawnSync(process.execPath, ["dev/first-build.mjs"], { stdio: "inherit" });
    if (status !== 0) process.exit(1);
  }
  // Where nothing can be built, as in a deployed service, the advice would be useless.
  if (existsSync("node_modules/typescript-native/bin/tsc") && isOlderThanItsSources())
    process.stderr.write(
      "dist/ is older than its sources, and is run as it was built. To build it anew: npm run build\n",
    );
} else if (!existsSync(program)) {
  process.stderr.write(`There is no dist/${name}.js to start. To build it: npm run build\n`);
  process.exit(1);
}
// As after `node dist/….js`, also in a list of processes.
process.argv.splice(1, Infinity, program, ...words);
process.title = `node dist/${name}.js`;
await import(pathToFileURL(program).href);

function isOlderThanItsSources() {
  const builtAt = statSync(program).mtimeMs;
  const isGenerated = (file) => /(^|[/\\])client[/\\]/.test(file);
  const within = (folder) =>
    readdirSync(folder, { recursive: true })
      .filter((file) => !isGenerated(file))
      .map((file) => path.join(folder, file));
  const settings = readdirSync(".").filter((file) => /^tsconfig.*\.json$/.test(file));
  return [...settings, ...["src", "prisma"].filter((folder) => existsSync(folder)).flatMap(within)].some(
    (file) => {
      const about = statSync(file, { throwIfNoEntry: false });
      return about?.isFile() && about.mtimeMs > builtAt;
    },
  );
}
