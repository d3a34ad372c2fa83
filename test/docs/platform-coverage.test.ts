import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Sandbox, startSandbox } from "../../packages/sandbox/index.ts";
import { wrongCitations } from "../support/cited-tests.ts";
import { clientEndpoints } from "../support/client-endpoints.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const document = read("docs/platform-coverage.md");

/** The cells of each line of each table, without the tables' heads. */
const rows = document
  .split("\n")
  .filter((line, index, lines) => line.startsWith("| ") && !lines[index + 1]?.startsWith("| ---"))
  .filter((line) => !line.startsWith("| ---"))
  .map((line) => line.slice(2, -2).split(" | "));
const covered = rows.filter((cells) => cells.length === 4) as [string, string, string, string][];

/** `GET /apps/{app_id_or_name}` in the one form in which two sources can be compared: `GET /apps/:`. */
const plain = (endpoint: string) => endpoint.replace(/\{[^}]+\}|:\w+/g, ":");
const endpoints = [...document.matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)`/g)].map(([, one]) => one!);
const documented = new Set(endpoints.map(plain));

describe("docs/platform-coverage.md", () => {
  it("has no empty cell, and no row without code in the kit or the sandbox", () => {
    expect(covered.length).toBeGreaterThan(100);
    expect(rows.filter(({ length }) => length !== 4 && length !== 2)).toEqual([]);
    expect(rows.filter((cells) => cells.some((cell) => cell.trim() === ""))).toEqual([]);
    expect(covered.filter(([, kit, sandbox]) => kit === "–" && sandbox === "–")).toEqual([]);
    expect(new Set(covered.map(([row]) => row)).size).toBe(covered.length);
  });

  it.each([
    ["src/", covered.map(([, kit]) => kit)],
    ["packages/sandbox/", covered.map(([, , sandbox]) => sandbox)],
  ])("names code that exists in %s", (folder, cells) => {
    const named = cells.filter((cell) => cell !== "–").flatMap((cell) => cell.split(", "));
    const files = named.map((file) => /^`(.+)`$/.exec(file)?.[1] ?? file);
    expect(files.filter((file) => !file.startsWith(folder) || !existsSync(path.join(root, file)))).toEqual(
      [],
    );
  });

  it("names tests that exist", () => {
    expect(covered.flatMap(([, , , tests]) => wrongCitations(tests))).toEqual([]);
  });

  it("names every endpoint that the kit's client calls", async () => {
    const asked = await clientEndpoints();
    expect(asked.length).toBeGreaterThan(35);
    expect(asked.map(plain).filter((endpoint) => !documented.has(endpoint))).toEqual([]);
  });

  it("names each path in the kit's source", async () => {
    const asked = (await clientEndpoints()).map((endpoint) => plain(endpoint).split(" ")[1]);
    const written = sources("src").flatMap((file) => [...read(file).matchAll(/\bpath`(\/[^`]*)`/g)]);
    const paths = written.map(([, text]) => text!.replace(/\$\{[^}]+\}/g, ":"));
    expect(paths.length).toBeGreaterThan(30);
    expect(paths.filter((one) => !asked.includes(one))).toEqual([]);
  });

  it("names every endpoint that the sandbox serves", () => {
    const served = servedEndpoints();
    expect(served.length).toBeGreaterThan(50);
    expect(served.filter((endpoint) => !documented.has(plain(endpoint)))).toEqual([]);
  });
});

describe("the sandbox", () => {
  let sandbox: Sandbox;
  let token: string;
  beforeAll(async () => {
    sandbox = await startSandbox();
    token = sandbox.control.userToken().token;
  });
  afterAll(() => sandbox.close());

  async function answerOf(endpoint: string): Promise<string> {
    const [method, pathname] = endpoint.replace(/\{[^}]+\}/g, "x").split(" ") as [string, string];
    const headers = { authorization: `Bearer ${token}`, accept: sandbox.settings.mediaType };
    const response = await fetch(sandbox.url + pathname, { method, headers, redirect: "manual" });
    return `${response.status} ${await response.text()}`;
  }
  const UNKNOWN = /^40[45] .*(has|plays) no [A-Z/]|Cannot [A-Z]+|is only read/;

  it.each([...new Set(endpoints)])("serves %s", async (endpoint) => {
    const answer = await answerOf(endpoint);
    expect(answer).not.toMatch(UNKNOWN);
    expect(answer).not.toMatch(/^5/);
  });

  it.each(["GET /apps/x/kettles", "PUT /addons/x/config", "GET /api/v4/kettles", "POST /api/v4/incidents"])(
    "answers unknown endpoints as such: %s",
    async (endpoint) => {
      expect(await answerOf(endpoint)).toMatch(UNKNOWN);
    },
  );
});

function sources(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => path.join(folder, name));
}

/** The routes of the sandbox's routers; the control API is no part of the platform. */
function servedEndpoints(): string[] {
  const mounted = [...read("packages/sandbox/app.ts").matchAll(/app\.use\("(\/[^"]+)", (\w+)\(/g)];
  return sources("packages/sandbox")
    .filter((file) => !file.startsWith("packages/sandbox/control/"))
    .flatMap((file) => {
      const text = read(file);
      const below = mounted.find(([, , router]) => text.includes(`export function ${router}(`))?.[1] ?? "";
      const routes = text.matchAll(/router\.(get|post|put|patch|delete)\(\s*"([^"]+)"/g);
      return [...routes].map(([, method, route]) => `${method!.toUpperCase()} ${below}${route}`);
    });
}
