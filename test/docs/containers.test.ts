import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { freePort } from "../../packages/conformance/free-port.ts";
import { composeServices } from "../support/compose.ts";
import { statementsOf } from "../support/database-roles.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// No container engine is needed here: what the last stage of the Dockerfile copies is put into a folder, and its programs
// are started there.

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const dockerfile = read("Dockerfile");
const sandboxEnv = parseEnv(read("ops/sandbox.env")) as Record<string, string>;
const services = composeServices(sandboxEnv);
/** A process that stops ends within this time, in s. */
const LONGEST_STOP = 25;

describe("compose.yaml", () => {
  it("mounts files that exist, and gives each process of ours longer to stop than it needs", () => {
    const volumes = Object.values(services).flatMap((each) => each.volumes ?? []);
    const files = volumes.map((each) => each.split(":")[0]!).filter((each) => each.startsWith("./"));
    expect(files).not.toEqual([]);
    expect(files.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
    for (const name of ["web", "worker", "migrate"])
      expect(Number.parseInt(services[name]!.stop_grace_period!)).toBeGreaterThan(LONGEST_STOP);
  });

  it("makes the service's role with the statements of docs/database.md", () => {
    const plain = (text: string) => text.replace(/PASSWORD \S+$/, "").replaceAll(/\s+/g, " ").trim(); // prettier-ignore
    const [asAdministrator, asOwner] = statementsOf("database.md");
    const here = read("ops/database-roles.sql").replaceAll(/^(--|\\).*$/gm, "").split(";").map(plain); // prettier-ignore
    const there = [...asAdministrator!.filter((each) => !/(ROLE|OWNER) addon_owner/.test(each)), ...asOwner!];
    expect(here.filter((each) => each !== "")).toEqual(there.map(plain));
  });

  it("narrows the rights of that role with the statements of the page, after the migration and before a process starts", () => {
    const statements = (text: string) => text.replaceAll(/^--.*$/gm, "").split(";").map((each) => each.trim()).filter(Boolean); // prettier-ignore
    expect(statements(read("ops/database-rights.sql"))).toEqual(statementsOf("database.md").at(-1));
    const { rights, web, worker } = services;
    expect(rights!.command!.at(-1)).toBe("/rights.sql");
    expect(rights!.depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
    for (const { depends_on } of [web!, worker!])
      expect(depends_on).toEqual({ rights: { condition: "service_completed_successfully" } });
  });
});

describe("the image that the Dockerfile describes", () => {
  const asRoot = process.getuid?.() === 0;
  const folder = mkdtempSync(path.join(asRoot ? "/var/tmp" : tmpdir(), "addon-image-"));
  const app = path.join(folder, "app");
  const running: ChildProcess[] = [];
  let world: World;
  let port: number;

  beforeAll(async () => {
    const made = path.join(folder, "made");
    mkdirSync(path.join(made, "node_modules"), { recursive: true });
    for (const file of ["package.json", "package-lock.json", ".npmrc"])
      cpSync(path.join(root, file), path.join(made, file));
    const isOneDisk = statSync(root).dev === statSync(made).dev;
    // Other tests write into the cache meanwhile.
    const packages = readdirSync(path.join(root, "node_modules")).filter((name) => name !== ".cache");
    const how = { cwd: path.join(root, "node_modules") };
    execFileSync("cp", [isOneDisk ? "-al" : "-a", ...packages, path.join(made, "node_modules")], how);
    const compiler = ["node_modules/typescript-native/bin/tsc", "-p", "tsconfig.build.json"];
    execFileSync(process.execPath, [...compiler, "--outDir", `${made}/dist`], { cwd: root });
    execFileSync(process.execPath, ["dev/finish-build.mjs", `${made}/dist`], { cwd: root });
    const [, prune = ""] = /^RUN (npm prune .*)$/m.exec(dockerfile)!;
    execFileSync("sh", ["-c", prune], { cwd: made, stdio: "pipe" });
    const stage = dockerfile.slice(dockerfile.lastIndexOf("FROM "));
    for (const [, from, source, to] of stage.matchAll(/^COPY (--from=\w+ \/app\/)?(\S+) (\S+)$/gm)) {
      const target = to!.endsWith("/") ? path.join(app, to!, path.basename(source!)) : path.join(app, to!);
      cpSync(path.join(from ? made : root, source!), target, { recursive: true, verbatimSymlinks: true });
    }
    // Only what is in the image's path is there for its user, and it is started read-only.
    mkdirSync(path.join(folder, "bin"));
    cpSync(process.execPath, path.join(folder, "bin/node"));
    chmodSync(folder, 0o755);
    execFileSync("chmod", ["-R", "a-w,a+rX", app]);
    world = await aWorld({ sells: "yours" });
    await world.service.stop();
    port = await freePort();
  }, 600_000);
  afterAll(async () => {
    for (const child of running) child.kill("SIGKILL");
    await world.close();
    execFileSync("chmod", ["-R", "u+w", app]);
    rmSync(folder, { recursive: true, force: true });
  }, 600_000);

  /** Runs a command as the image's user, with its environment. */
  function start([program, ...words]: string[]) {
    const [, uid, gid] = /^USER (\d+):(\d+)$/m.exec(dockerfile)!.map(Number);
    const child = spawn(program!, words, {
      cwd: app,
      env: { PATH: path.join(folder, "bin"), NODE_ENV: "production", ...world.environment, PORT: `${port}` },
      ...(asRoot ? { uid: uid!, gid: gid! } : {}),
    });
    running.push(child);
    const run = { child, output: "", ended: once(child, "exit").then(([code]) => code as number | null) };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => (run.output += data.toString()));
    return run;
  }
  const commandIn = (pattern: RegExp) => JSON.parse(pattern.exec(dockerfile)![1]!) as string[];
  const isHealthy = async () => (await start(commandIn(/HEALTHCHECK[^]*?CMD (\[.*\])$/m)).ended) === 0;

  it("is at most 80 MB", () => {
    const [kilobytes] = execFileSync("du", ["-sk", app], { encoding: "utf8" }).split("\t");
    expect((Number(kilobytes) * 1_024) / 1e6).toBeLessThanOrEqual(80);
  });

  it("migrates, is healthy, provisions what the sandbox installs, and stops in time, as another user on a read-only tree", async () => {
    const migrate = start(services["migrate"]!.command!);
    expect({ code: await migrate.ended, output: migrate.output }).toMatchObject({ code: 0 });
    const web = start(commandIn(/^CMD (\[.*\])$/m));
    const worker = start(services["worker"]!.command!);
    await eventually(isHealthy, 120_000);
    const url = `http://127.0.0.1:${port}`;
    await eventually(async () => (await fetch(`${url}/readyz`)).ok, 120_000);
    const { control } = world.sandbox;
    control.partner({ partnerUrl: url });
    const { addon } = await control.install({});
    await world.quiet([addon.id]);
    const shown = start(["node", "dist/kit.js", "resources", "show", addon.id]);
    expect({ code: await shown.ended, output: shown.output }).toMatchObject({ code: 0 });
    for (const { child } of [web, worker]) child.kill("SIGTERM");
    for (const each of [web, worker])
      expect({ code: await each.ended, output: each.output }).toEqual({
        code: 0,
        output: expect.not.stringMatching(/stop_incomplete|EACCES|EROFS/),
      });
    expect(await isHealthy()).toBe(false);
  }, 600_000);
});
