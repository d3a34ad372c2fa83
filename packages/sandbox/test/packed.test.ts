import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { anAssistant } from "./mcp-process.ts";

// The packed archive in a folder with nothing else of the repository. So that no network is needed, npm does not install
// its dependencies: those that it declares, and no others, are linked to the ones that are here.

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "sandbox-"));
/** With a dot as the folders that npx installs into, and a blank. */
const empty = path.join(folder, ".an empty folder");
const installed = path.join(empty, "node_modules/addon-platform-sandbox");
const running: ChildProcess[] = [];

beforeAll(() => {
  const copy = path.join(folder, "repository");
  for (const each of ["package.json", ".npmrc", "tsconfig.json", "dev/packages.mjs", "packages/sandbox"])
    cpSync(path.join(root, each), path.join(copy, each), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  execFileSync("npm", ["run", "--silent", "pack", "--", "--silent", "--pack-destination", folder], {
    cwd: copy,
  });
  expect(readdirSync(path.join(copy, "packages/sandbox"))).not.toContain("dist");

  mkdirSync(installed, { recursive: true });
  const archive = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
  execFileSync("tar", ["-xzf", path.join(folder, archive), "--strip-components=1", "-C", installed]);
  const { dependencies } = JSON.parse(readFileSync(path.join(installed, "package.json"), "utf8")) as {
    dependencies: object;
  };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(path.dirname(path.join(empty, "node_modules", name)), { recursive: true });
    symlinkSync(path.join(root, "node_modules", name), path.join(empty, "node_modules", name));
  }
});
afterEach(() => running.splice(0).map((child) => child.kill("SIGKILL")));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts the archive's command in the empty folder, on any port, and waits until it has printed its address. */
async function start(settings: Record<string, string> = {}) {
  const bin = path.join(installed, "bin.mjs");
  const env = { PATH: process.env["PATH"], SANDBOX_PORT: "0", ...settings };
  const child = spawn(process.execPath, [bin], { cwd: empty, env, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  let output = "";
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (/^CLIENT_SECRET=\w+$/m.test(output)) resolve();
      });
    child.once("close", () => reject(new Error(output)));
  });
  await ready;
  const url = /on (http:\S+);/.exec(output)![1]!;
  return { child, url, output };
}

it("starts with its pages and its control API, and keeps its state in a file", async () => {
  const SANDBOX_STATE = "state.json";
  const first = await start({ SANDBOX_STATE, PARTNER_URL: "http://localhost:9", ADDON_ID: "kettles" });
  expect(first.output).toContain("it calls http://localhost:9/resources.");
  const page = await fetch(first.url, { headers: { accept: "text/html" } });
  const html = await page.text();
  const assets = [...html.matchAll(/(?:href|src)="(\/[^"]+\.(?:css|js))"/g)].map(([, address]) => address!);
  expect(assets.length).toBeGreaterThan(2);
  for (const address of [...assets, "/sandbox/assets/pages.css"]) {
    const asset = await fetch(first.url + address);
    expect([address, asset.status, (await asset.text()).length > 500]).toEqual([address, 200, true]);
  }
  const made = await fetch(`${first.url}/sandbox/apps`, { method: "POST", body: '{"name": "shop"}' });
  expect(made.status).toBe(201);
  first.child.kill("SIGTERM");
  expect(await once(first.child, "close")).toEqual([0, null]);

  const second = await start({ SANDBOX_STATE });
  const state = (await (await fetch(`${second.url}/sandbox/state`)).json()) as {
    apps: object[];
    settings: object;
  };
  expect(state).toMatchObject({ apps: [{ name: "shop" }] });
});

it("prints the token that it demands off the loopback address", async () => {
  const { url, output } = await start({ SANDBOX_HOST: "0.0.0.0" });
  const token = /^SANDBOX_TOKEN=(\w+)$/m.exec(output)![1]!;
  const state = (headers = {}) => fetch(`${url}/sandbox/state`, { headers });
  expect((await state()).status).toBe(401);
  expect((await state({ authorization: `Bearer ${token}` })).status).toBe(200);
});

it("serves an assistant over its standard input and output", async () => {
  const { tools, ask, close } = await anAssistant(
    {},
    { words: [path.join(installed, "bin.mjs"), "mcp"], cwd: empty },
  );
  expect((await tools()).length).toBeGreaterThan(30);
  expect(await ask("startSandbox")).toMatchObject({ url: expect.stringMatching(/^http/) });
  await close();
});

it("with words that it does not know, says which it knows", () => {
  const start = () =>
    execFileSync(process.execPath, [path.join(installed, "bin.mjs"), "mpc"], { stdio: "pipe" });
  expect(start).toThrow(/The sandbox does not know mpc\.\s+Usage: addon-platform-sandbox \[mcp\]/);
});

it("is a library too, with types", () => {
  const code = `import { startSandbox } from "addon-platform-sandbox";
    const { control, close } = await startSandbox();
    control.createApp({ name: "shop" });
    console.log(control.state().apps[0].name);
    await close();`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", code], { cwd: empty });
  expect(printed.toString()).toBe("shop\n");
  expect(readdirSync(path.join(installed, "dist"))).toContain("index.d.ts");
});

it("packed without its JavaScript, says how to pack it", () => {
  const bin = path.join(root, "packages/sandbox/bin.mjs");
  const copy = path.join(folder, "bin.mjs");
  cpSync(bin, copy);
  expect(() => execFileSync(process.execPath, [copy], { stdio: "pipe" })).toThrow(
    /npm pack --ignore-scripts=false/,
  );
});
