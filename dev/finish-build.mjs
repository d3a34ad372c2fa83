// Completes a build's folder with what the compiler leaves out: what it takes of packages that production does not install,
// the migrations of your service, the runbook, what npm's scripts start with, what `kit --help` lists, and the commit that was
// built, for src/version.ts: git's, with -dirty if files differ from it; where there is no repository, the one that a platform or
// a container's build names in the environment.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL, URL } from "node:url";

const [, , folder = "dist"] = process.argv;
/** The packages of which it takes the few files that the service needs: docs/decisions.md, "What of Prisma is installed". */
const BUILT_IN = JSON.parse(readFileSync(new URL("built-in.json", import.meta.url), "utf8"));
const clients = ["database", "your-service"]
  .map((owner) => `${folder}/${owner}/client/client.js`)
  .filter(existsSync);
if (clients.length > 0) await bundle(clients);
for (const name of BUILT_IN) cpSync(licenceOf(name), `${folder}/licences/${name.replace("/", "-")}.txt`);
cpSync("node_modules/@picocss/pico/css/pico.classless.min.css", `${folder}/pages/pico.css`);

const migrations = "src/your-service/migrations";
if (existsSync(migrations)) cpSync(migrations, `${folder}/your-service/migrations`, { recursive: true });
// npm's scripts begin with them where dev/ is not deployed.
for (const file of ["start.mjs", "npm-shell.mjs"]) cpSync(`dev/${file}`, `${folder}/${file}`);
// The operator's pages show it.
cpSync("docs/operate.md", `${folder}/operate.md`);
const { stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
const named = process.env.SOURCE_COMMIT || process.env.SOURCE_VERSION || "";
writeFileSync(
  `${folder}/commit`,
  String(stdout ?? "").trim() || named.replace(/^([0-9a-f]{12})[0-9a-f]+$/, "$1"),
);
// Last, because it needs the code that was built.
const kit = `${folder}/operator/commands/program.js`;
if (existsSync(kit)) {
  const { listCommands } = await import(pathToFileURL(path.resolve(kit)).href);
  writeFileSync(`${folder}/kit-commands.json`, JSON.stringify(await listCommands()));
}

/** Puts into the generated clients what they import of Prisma's: its runtime, once, and the compiler for PostgreSQL. */
async function bundle(clients) {
  const { build } = await import("esbuild");
  const { metafile } = await build({
    entryPoints: clients,
    outdir: folder,
    outbase: folder,
    chunkNames: "database/client/prisma-[hash]",
    ...{ bundle: true, splitting: true, format: "esm", platform: "node", target: "node20" },
    ...{ allowOverwrite: true, metafile: true, logLevel: "warning" },
    // Prisma's runtime loads modules of Node by require, which an ES module has not by itself.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  const others = Object.keys(metafile.inputs)
    .map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1])
    .filter((name) => name && !BUILT_IN.includes(name));
  if (others.length === 0) return;
  process.stderr.write(
    `The build took in ${[...new Set(others)].join(", ")}: name it in dev/built-in.json.\n`,
  );
  process.exit(1);
}

function licenceOf(name) {
  const file = readdirSync(`node_modules/${name}`).find((each) => /^licen[cs]e/i.test(each));
  return `node_modules/${name}/${file}`;
}
