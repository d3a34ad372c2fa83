// The scripts of package.json that run the build: `kit`, in a folder with a compiler that says that it ran; `start` and `worker`.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const { scripts } = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
) as { scripts: Record<string, string> & Record<"kit" | "start" | "worker", string> }; // prettier-ignore
const DEV = fileURLToPath(new URL("../../../dev", import.meta.url));
const BUILT_IN = JSON.parse(readFileSync(path.join(DEV, "built-in.json"), "utf8")) as string[];
/** The compiler takes a moment in which only a part of the build exists. */
const COMPILER = `
const { mkdirSync, writeFileSync } = require("node:fs");
const folder = process.argv.at(-1);
console.log("building");
mkdirSync(folder);
writeFileSync(folder + "/kit.js", 'import "./part.js"; console.log("new")');
setTimeout(() => writeFileSync(folder + "/part.js", ""), 500);
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "fresh-build-"));
  const manifest = { name: "a-kit", type: "module", scripts: { kit: scripts.kit } };
  await put("package.json", JSON.stringify(manifest));
  await mkdir(path.join(folder, "dev"), { recursive: true });
  for (const script of ["start.mjs", "npm-shell.mjs"])
    await copyFile(path.join(DEV, script), path.join(folder, "dev", script));
});
afterEach(() => rm(folder, { recursive: true }));

async function put(file: string, content = "", writtenSecondsAgo = 60): Promise<void> {
  const place = path.join(folder, file);
  await mkdir(path.dirname(place), { recursive: true });
  await writeFile(place, content, { mode: 0o755 });
  const at = Date.now() / 1000 - writtenSecondsAgo;
  await utimes(place, at, at);
}

const aCheckout = async (compiler = COMPILER) => {
  const files = ["src/your-service/plans.ts", "prisma/schema.prisma", "prisma/generate.mjs", "tsconfig.json"];
  files.push("docs/operate.md");
  for (const file of files) await put(file);
  await put("node_modules/typescript-native/bin/tsc", compiler);
  for (const name of BUILT_IN) await put(`node_modules/${name}/LICENSE`);
  await put("node_modules/@picocss/pico/css/pico.classless.min.css");
  await mkdir(path.join(folder, "dev"), { recursive: true });
  for (const script of ["first-build.mjs", "finish-build.mjs", "built-in.json"])
    await copyFile(path.join(DEV, script), path.join(folder, "dev", script));
};
const aBuild = (writtenSecondsAgo: number) =>
  put("dist/kit.js", "console.log('old', ...process.argv.slice(2))", writtenSecondsAgo);

const npm = (...words: string[]) => run("npm", "run", "--silent", "kit", "--", ...words);
/** As npm runs the script, without npm's own start. */
const kit = () => run("sh", "-c", scripts.kit);

async function run(program: string, ...words: string[]) {
  const PATH = `${folder}/node_modules/.bin:${process.env["PATH"]}`;
  const child = spawn(program, words, { cwd: folder, env: { ...process.env, PATH } });
  const [ran, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
  // Printed before the wait that it explains.
  const hasBuilt = /^Building dist\/.*\nbuilding\n/.test(said);
  return { ran: ran.trim(), hasBuilt, isTold: said.includes("npm run build") };
}
const OLD = { ran: "old", hasBuilt: false, isTold: false };

describe("npm run kit", () => {
  it("builds when there is no build, also if it is run several times at once, and not when the build is up to date", async () => {
    await aCheckout();
    const started = await Promise.all([kit(), kit(), kit()]);
    expect(started.map(({ ran }) => ran)).toEqual(["new", "new", "new"]);
    expect(started.some(({ hasBuilt }) => hasBuilt)).toBe(true);
    expect((await readdir(folder)).filter((name) => name.startsWith("dist"))).toEqual(["dist"]);
    expect((await readdir(path.join(folder, "dist"))).sort()).toEqual([
      ...["commit", "kit.js", "licences", "npm-shell.mjs", "operate.md", "pages", "part.js", "start.mjs"],
    ]);
    expect(await kit()).toEqual({ ran: "new", hasBuilt: false, isTold: false });
    await aBuild(30);
    expect(await npm("doctor", "--json")).toEqual({ ...OLD, ran: "old doctor --json" });
  });

  it.each([
    ["src/your-service/plans.ts", true],
    ["prisma/schema.prisma", true],
    ["tsconfig.build.json", true],
    ["src/database/client/client.ts", false],
  ])("keeps a build that a service may be using after a change of %s; it warns: %s", async (file, isTold) => {
    await aCheckout();
    await aBuild(30);
    await put(file, "", 10);
    expect(await kit()).toEqual({ ...OLD, isTold });
  });

  it("writes down which commit was built", async () => {
    await aCheckout();
    const commit = async (environment: Record<string, string>) => {
      const env = { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(folder), ...environment };
      spawnSync(process.execPath, ["dev/finish-build.mjs", "."], { cwd: folder, env });
      return readFileSync(path.join(folder, "commit"), "utf8");
    };
    expect(await commit({ SOURCE_COMMIT: "", SOURCE_VERSION: "" })).toBe("");
    const named = { SOURCE_COMMIT: "", SOURCE_VERSION: "0123456789abcdef0123456789abcdef01234567" };
    expect(await commit(named)).toBe("0123456789ab");
    expect(await commit({ ...named, SOURCE_COMMIT: "release-7" })).toBe("release-7");
    const git = (words: string) =>
      spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...words.split(" ")], { cwd: folder });
    for (const words of ["init -q", "add dev", "commit -q -m one"]) git(words);
    expect(await commit(named)).toBe(String(git("rev-parse --short=12 HEAD").stdout).trim());
    await put("dev/finish-build.mjs", `${readFileSync(path.join(DEV, "finish-build.mjs"), "utf8")}\n`);
    expect(await commit(named)).toMatch(/^[0-9a-f]{12}-dirty$/);
  });

  it("does not run when the build fails, and leaves no partial build", async () => {
    await aCheckout(`${COMPILER}process.exitCode = 2;\n`);
    expect(await kit()).toEqual({ ran: "", hasBuilt: true, isTold: false });
    expect((await readdir(folder)).filter((name) => name.startsWith("dist"))).toEqual([]);
  });

  it("never builds in a deployed service, without the compiler and without dev/", async () => {
    for (const script of ["start.mjs", "npm-shell.mjs"])
      await put(`dist/${script}`, readFileSync(path.join(DEV, script), "utf8"));
    await rm(path.join(folder, "dev"), { recursive: true });
    await aBuild(30);
    await put("src/your-service/plans.ts", "", 10);
    expect(await kit()).toEqual(OLD);
  });
});

describe.each([
  ["start", "web"],
  ["worker", "worker"],
] as const)("npm run %s", (script, role) => {
  const start = () => {
    const env = { ...process.env, npm_lifecycle_event: script };
    return spawn("sh", ["-c", scripts[script]], { cwd: folder, env });
  };

  it("names the build that is missing, in a sentence, and fails", async () => {
    await put("dist/kit.js");
    const child = start();
    const ended = once(child, "exit") as Promise<[number]>;
    const [ran, said, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const missing = `There is no dist/${role}.js to start. To build it: npm run build\n`;
    expect({ ran, said, code }).toEqual({ ran: "", said: missing, code: 1 });
  });

  it("lets the service stop in order at a signal that the script's shell gets, and does not pass on", async () => {
    const stop = 'process.on("SIGTERM", () => (console.log("stopped"), clearInterval(working)))';
    await put(`dist/${role}.js`, `const working = setInterval(() => {}, 1e6); ${stop}; console.log("up");`);
    const child = start();
    const printed = text(child.stdout);
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await printed).toBe("up\nstopped\n");
  });
});

describe("without the packages for building", () => {
  beforeEach(async () => {
    await put("package.json", JSON.stringify({ name: "a-kit", type: "module", scripts }));
    await put("prisma/schema.prisma");
    for (const file of [
      "prisma/generate.mjs",
      "prisma/prisma.mjs",
      "dev/packages.mjs",
      ...["first-build", "lint", "npm-shell", "run", "start", "test"].map((name) => `dev/${name}.mjs`),
    ]) {
      await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
      await copyFile(path.join(DEV, "..", file), path.join(folder, file));
    }
  });

  it.each(
    "build kit dev test sandbox sandbox:run demo check conformance make-it-yours types lint".split(" "),
  )("npm run %s says what to install, in a sentence, and fails", async (script) => {
    const env = { ...process.env, NODE_ENV: "production" };
    const child = spawn("npm", ["run", "--silent", script], { cwd: folder, env });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    const needed = said.replace(/^Building dist\/.*\n/, "");
    expect(needed).toMatch(/^Packages for building are not installed \(.*npm ci --include=dev.*\.\n$/);
    expect(code).toBe(1);
  });
});
