// The archive that is published, in a folder with nothing else of the kit.

import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../free-port.ts";
import { startExample } from "../examples/service/service.ts";

const run = promisify(execFile);
const HOME = fileURLToPath(new URL("..", import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "packed conformance "));
  await run("npm", ["pack", "--ignore-scripts=false", "--pack-destination", folder], { cwd: HOME });
  const [archive] = await readdir(folder);
  const quietly = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await run("npm", ["install", ...quietly, `./${archive}`], { cwd: folder });
}, 180_000);
afterAll(() => rm(folder, { recursive: true }));

const npx = (...words: string[]) =>
  run("npx", ["--no-install", "addon-partner-conformance", ...words], { cwd: folder }).catch(
    (error: { code: number; stdout: string; stderr: string }) => error,
  );

it("checks a service from its archive alone, with its rules' sources", async () => {
  const [port, platformPort] = [await freePort(), await freePort()];
  const platform = `http://127.0.0.1:${platformPort}`;
  const service = await startExample({
    ...{ port, addonId: "mine", addonPassword: "p", clientSecret: "c", ssoSalt: null },
    ...{ platformApiUrl: platform, platformAuthUrl: platform },
  });
  const words = ["--id", "mine", "--password", "p", "--platform-port", String(platformPort)];
  const only = ["--only", "AUTH", "PROV-01", "EXCH-01", "TOMB"];
  const { stdout } = await npx("--url", `http://127.0.0.1:${port}`, ...words, ...only);
  await service.close();
  expect(stdout).toMatch(/Every must-rule that could be judged holds\.[^]* 17 passed, 0 broken, /);
  const files = await readdir(path.join(folder, "node_modules/addon-partner-conformance"));
  expect(files.sort()).toEqual(["LICENSE", "README.md", "bin.mjs", "dist", "docs", "package.json"]);
  expect(await readdir(HOME)).not.toContain("dist");
}, 120_000);

it("ends with the exit codes of the checker", async () => {
  expect(await npx("--url", "http://127.0.0.1:9", "--id", "x", "--password", "p")).toMatchObject({ code: 1 });
  expect(await npx("--no-such-option")).toMatchObject({ code: 2, stdout: "" });
}, 60_000);
