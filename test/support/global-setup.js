import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL, URL } from "node:url";
import { tsImport } from "tsx/esm/api";
import { compileInto } from "./compile.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Everything that a process may be started from, load, or read. */
const FOLDERS = ["src", "packages", "dev", "prisma/migrations", "test/support", "examples"];
const CACHE = path.join(root, "node_modules/.cache/addon-test-programs");
const KEPT_MS = 24 * 3_600_000;

/** Runs before the first test: compiles the programs that tests start, and starts the database server. */
export default async function setUp() {
  const { startTestServer } = await tsImport("./test-server.ts", import.meta.url);
  const [tearDown] = await Promise.all([startTestServer(), compilePrograms()]);
  globalThis.tearDown = tearDown;
}

/**
 * Compiles the programs that tests start as processes. A process that compiles while it starts takes three times as
 * long, and there are hundreds. Each state of the code has a folder of its own, so no outdated code ever runs.
 */
async function compilePrograms() {
  const files = (await Promise.all(FOLDERS.map(filesIn))).flat();
  const folder = path.join(CACHE, fingerprint(files));
  if (!existsSync(folder)) await compile(files, folder);
  await removeUnused(folder);
  process.env["TEST_PROGRAMS"] = folder;
}

/** Removes the folders that were not used for a day; the modification time of a folder is that of its last use. */
async function removeUnused(used) {
  const now = new Date();
  await utimes(used, now, now);
  for (const name of await readdir(CACHE)) {
    const folder = path.join(CACHE, name);
    // Another run may remove it at the same moment.
    const { mtime } = await stat(folder).catch(() => ({ mtime: now }));
    if (now - mtime > KEPT_MS) await rm(folder, { recursive: true, force: true });
  }
}

async function filesIn(folder) {
  const entries = await readdir(path.join(root, folder), { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  return Promise.all(
    names.sort().map(async (name) => ({ name: path.relative(root, name), content: await readFile(name) })),
  );
}

function fingerprint(files) {
  const hash = createHash("sha256");
  for (const { name, content } of files) hash.update(`${name} ${content.length} `).update(content);
  return hash.digest("hex").slice(0, 16);
}

async function compile(files, folder) {
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  // As a build is: with a version and the name of a commit.
  await writeFile(path.join(unfinished, "package.json"), `{"type":"module","version":"1.2.3"}`);
  await mkdir(path.join(unfinished, "src"));
  await writeFile(path.join(unfinished, "src/commit"), "0123456789ab");
  const isSource = ({ name }) => /\.tsx?$/.test(name);
  const sources = files.filter(isSource).map(({ name }) => ({
    in: path.join(root, name),
    out: placeOf(name).replace(/\.tsx?$/, ""),
  }));
  await compileInto(unfinished, sources);
  for (const { name, content } of files.filter((file) => !isSource(file))) {
    const file = path.join(unfinished, placeOf(name));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await listCommands(path.join(unfinished, "src"));
  // Another run may have put the same folder there meanwhile.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
}

/** As dev/finish-build.mjs does. */
async function listCommands(built) {
  const kit = await import(pathToFileURL(path.join(built, "operator/commands/program.js")).href);
  await writeFile(path.join(built, "kit-commands.json"), JSON.stringify(await kit.listCommands()));
}

/**
 * The kit's programs sell the teapots of the tests, whatever a fork sells; the fork's own service is placed beside
 * `src`.
 */
function placeOf(name) {
  return name
    .replace(/^src\/your-service\//, "your-service/")
    .replace(/^test\/support\/teapots\//, "src/your-service/");
}
