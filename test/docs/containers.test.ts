import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { validate } from "dockerfile-utils";
import { composeServices, composeText, type ComposeService } from "../support/compose.ts";
import { statementsOf, twoRoles } from "../support/database-roles.ts";
import { testServerUrl } from "../support/database.ts";
import { carryOut, megabytes, type Stage } from "../support/dockerfile.ts";
import { eventually } from "../support/world.ts";

// No container engine is needed here: the steps of the Dockerfile are carried out in a folder, and the services of
// compose.yaml are started from it, on a PostgreSQL of the tests.

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const sandboxEnv = parseEnv(read("ops/sandbox.env")) as Record<string, string>;
const services = composeServices(sandboxEnv);
/** A process that stops ends within this time, in s. */
const LONGEST_STOP = 25;

it("the Dockerfile is without faults", () => {
  expect(validate(read("Dockerfile"), {}).map(({ message }) => message)).toEqual([]);
});

describe("compose.yaml", () => {
  it("mounts files that exist", () => {
    const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((each) => each.split(":")[0]!),
    );
    const files = mounted.filter((each) => each.startsWith("./"));
    expect(files).not.toEqual([]);
    expect(files.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });

  it("asks with a sentence for what is missing, and for nothing that ops/sandbox.env does not have", () => {
    const asked = [...composeText.matchAll(/\$\{(\w+):\?([^}]+)\}/g)].map(([, name]) => name!);
    for (const name of asked)
      expect(() => composeServices({ ...sandboxEnv, [name]: "" })).toThrow(new RegExp(`^${name}: \\w+ .+`));
    // A URL takes the passwords as they are.
    expect(Object.values(sandboxEnv).filter((value) => /[@#%?\s]/.test(value))).toEqual([]);
  });

  it("gives each process of ours longer to stop than it needs", () => {
    for (const name of ["web", "worker", "migrate"])
      expect(Number.parseInt(services[name]!.stop_grace_period!)).toBeGreaterThan(LONGEST_STOP);
  });

  it("makes the service's role with the statements of docs/database.md", () => {
    const plain = (text: string) =>
      text
        .replace(/PASSWORD \S+$/, "")
        .replaceAll(/\s+/g, " ")
        .trim();
    const [asAdministrator, asOwner] = statementsOf("database.md");
    const here = read("ops/database-roles.sql")
      .replaceAll(/^(--|\\).*$/gm, "")
      .split(";")
      .map(plain);
    const there = [...asAdministrator!.filter((each) => !/(ROLE|OWNER) addon_owner/.test(each)), ...asOwner!];
    expect(here.filter((each) => each !== "")).toEqual(there.map(plain));
  });
});

describe("the image that the Dockerfile describes", () => {
  const asRoot = process.getuid?.() === 0;
  const folder = mkdtempSync(path.join(asRoot ? "/var/tmp" : tmpdir(), "addon-image-"));
  const roles = twoRoles(testServerUrl());
  const running: Process[] = [];
  const commit = "0123456789ab";
  /** A machine may be busy with other tests. */
  const LONG_MS = 120_000;
  let stages: Record<string, Stage>;
  let ports: { web: number; sandbox: number };

  beforeAll(async () => {
    chmodSync(folder, 0o755);
    stages = carryOut(root, folder, { SOURCE_COMMIT: commit });
    // Only what is in the image's path is there for its user.
    mkdirSync(path.join(folder, "bin"));
    cpSync(process.execPath, path.join(folder, "bin/node"));
    // As the root file system of a container that is started read-only.
    execFileSync("chmod", ["-R", "a-w", stages[""]!.root]);
    const [asAdministrator, asOwner] = statementsOf("database.md");
    await roles.ask("server", asAdministrator!);
    await roles.ask("owner", asOwner!);
    ports = { web: await freePort(), sandbox: await freePort() };
  }, 600_000);
  afterAll(async () => {
    for (const each of running) each.child.kill("SIGKILL");
    await Promise.all(running.map(({ ended }) => ended));
    await roles.close();
    execFileSync("chmod", ["-R", "u+w", folder]);
    rmSync(folder, { recursive: true, force: true });
  }, 600_000);

  /** Runs a command in the image of a service, as Compose would: with its files, its user and its environment. */
  function start(name: string, command?: string[]): Process {
    const service = services[name]!;
    const stage = stages[service.build?.target ?? ""]!;
    const [program, ...words] = command ?? service.command ?? stage.command;
    const [uid, gid] = stage.user.split(":").map(Number);
    const child = spawn(program!, words, {
      cwd: path.join(stage.root, stage.workdir),
      env: { PATH: path.join(folder, "bin"), ...stage.environment, ...here(service) },
      ...(asRoot && uid ? { uid, gid: gid! } : {}),
    });
    const process = {
      child,
      output: "",
      ended: once(child, "exit").then(([code, signal]) => (code ?? signal) as number),
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => (process.output += data.toString()));
    running.push(process);
    return process;
  }

  /** A service's environment, with addresses of this machine for the names of the containers. */
  function here({ environment = {} }: ComposeService): Record<string, string> {
    const addresses = {
      "addon_service:service-of-the-sandbox-alone@postgresql/addon": roles.serviceUrl,
      "addon_owner:owner-of-the-sandbox-alone@postgresql/addon": roles.ownerUrl,
      "http://web:3000": `http://127.0.0.1:${ports.web}`,
      "http://sandbox:4000": `http://127.0.0.1:${ports.sandbox}`,
      "/state/": `${folder}/`,
    };
    let text = JSON.stringify(environment);
    for (const [name, address] of Object.entries(addresses))
      text = text.replaceAll(`postgresql://${name}`, address).replaceAll(name, address);
    return {
      ...(JSON.parse(text) as Record<string, string>),
      PORT: `${ports.web}`,
      SANDBOX_PORT: `${ports.sandbox}`,
    };
  }

  const on = (port: number, address: string) => `http://127.0.0.1:${port}${address}`;

  it("is at most 160 MB, also where a platform prunes what it has built", () => {
    expect(megabytes(stages["packages"]!.root)).toBeLessThanOrEqual(160);
    expect(megabytes(stages[""]!.root)).toBeLessThanOrEqual(160);
  });

  it("holds nothing but what runs", () => {
    const names = readdirSync(path.join(stages[""]!.root, stages[""]!.workdir));
    expect(names.sort()).toEqual(["dist", "node_modules", "package.json", "prisma"]);
  });

  it("migrates, is healthy, provisions what the sandbox installs, and stops in time, as another user on a read-only tree", async () => {
    const migrate = start("migrate");
    expect({ code: await migrate.ended, output: migrate.output }).toMatchObject({ code: 0 });
    const web = start("web");
    const worker = start("worker");
    const sandbox = start("sandbox");

    await eventually(async () => (await start("web", stages[""]!.healthcheck).ended) === 0, LONG_MS);
    await eventually(async () => (await fetch(on(ports.web, "/readyz"))).ok, LONG_MS);
    expect(web.output).toContain(commit);
    await eventually(() => expect(sandbox.output).toMatch(/^SANDBOX_TOKEN=\w+$/m), LONG_MS);
    const [, token] = /^SANDBOX_TOKEN=(\w+)$/m.exec(sandbox.output)!;
    const control = (address: string, init: RequestInit = {}) =>
      fetch(on(ports.sandbox, `/sandbox${address}`), {
        headers: { authorization: `Bearer ${token}` },
        ...init,
      });
    const post = async (address: string, body: object) => {
      const response = await control(address, { method: "POST", body: JSON.stringify(body) });
      expect(response.status).toBe(201);
      return (await response.json()) as { addon: { id: string } };
    };
    expect((await control("/state", { headers: {} })).status).toBe(401);
    await post("/apps", { name: "shop" });
    const { addon } = await post("/apps/shop/addons", {});
    await eventually(async () => {
      const now = await (await control(`/addons/${addon.id}`)).json();
      expect(now).toMatchObject({ state: "provisioned", grant: { state: "exchanged" } });
    }, LONG_MS);
    const shown = start("web", ["node", "dist/kit.js", "resources", "show", addon.id]);
    expect({ code: await shown.ended, output: shown.output }).toMatchObject({ code: 0 });

    for (const each of [web, worker, sandbox]) each.child.kill("SIGTERM");
    for (const each of [web, worker, sandbox])
      expect({ code: await each.ended, output: each.output }).toEqual({
        code: 0,
        output: expect.not.stringMatching(/stop_incomplete|EACCES|EROFS/),
      });
    expect(await start("web", stages[""]!.healthcheck).ended).toBe(1);
  }, 600_000);
});

interface Process {
  child: ChildProcess;
  output: string;
  ended: Promise<number>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
