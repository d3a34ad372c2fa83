// The archive that is published, in a folder with nothing else of the kit.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { startExample } from "../examples/service/service.ts";
import { freePort } from "../free-port.ts";

// So that no network is needed, npm does not install its dependencies: those that it declares, and no others, are linked
// to the ones that are here.

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "conformance-"));
const empty = path.join(folder, ".an empty folder");
const installed = path.join(empty, "node_modules/addon-partner-conformance");

beforeAll(() => {
  const copy = path.join(folder, "repository");
  for (const each of ["package.json", ".npmrc", "tsconfig.json", "packages", "docs/assumed.md"])
    cpSync(path.join(root, each), path.join(copy, each), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  const words = ["pack", "--silent", "--ignore-scripts=false", "--workspace", "packages/conformance"];
  execFileSync("npm", [...words, "--pack-destination", folder], { cwd: copy });
  const left = readdirSync(path.join(copy, "packages/conformance"));
  expect(left.filter((name) => ["dist", "docs"].includes(name))).toEqual([]);

  mkdirSync(installed, { recursive: true });
  const archive = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
  execFileSync("tar", ["-xzf", path.join(folder, archive), "--strip-components=1", "-C", installed]);
  const manifest = readFileSync(path.join(installed, "package.json"), "utf8");
  for (const name of Object.keys((JSON.parse(manifest) as { dependencies: object }).dependencies)) {
    mkdirSync(path.dirname(path.join(empty, "node_modules", name)), { recursive: true });
    symlinkSync(path.join(root, "node_modules", name), path.join(empty, "node_modules", name));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the archive's command in the empty folder. */
async function command(...words: string[]) {
  const child = spawn(process.execPath, [path.join(installed, "bin.mjs"), ...words], {
    ...{ cwd: empty, env: { PATH: process.env["PATH"] } },
  });
  child.stdin.end();
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, stdout, stderr };
}

it("checks a service from its archive alone, with its rules' sources", async () => {
  const [port, platformPort] = [await freePort(), await freePort()];
  const platform = `http://127.0.0.1:${platformPort}`;
  const service = await startExample({
    ...{ port, addonId: "mine", addonPassword: "p", clientSecret: "c", ssoSalt: null },
    ...{ platformApiUrl: platform, platformAuthUrl: platform },
  });
  const words = ["--id", "mine", "--password", "p", "--platform-port", String(platformPort)];
  const only = ["--only", "AUTH", "PROV-01", "EXCH-01", "TOMB"];
  const { stdout } = await command("--url", `http://127.0.0.1:${port}`, ...words, ...only);
  await service.close();
  expect(stdout).toMatch(/Every must-rule that could be judged holds\.[^]* 18 passed, 0 broken, /);
  expect(readdirSync(installed).sort()).toEqual([
    ...["LICENSE", "README.md", "bin.mjs", "dist", "docs", "examples", "package.json"],
  ]);
});

it("ends with the exit codes of the checker", async () => {
  const words = ["--id", "x", "--password", "p", "--platform-port", String(await freePort())];
  const nobody = await command("--url", "http://127.0.0.1:9", ...words);
  expect(nobody).toMatchObject({ code: 1, stdout: "" });
  expect(await command("--no-such-option")).toMatchObject({ code: 2, stdout: "" });
});
