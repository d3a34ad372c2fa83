// `node workshop/stands-alone.mjs FOLDER`: tries the archives of `npm run pack` in FOLDER as a stranger does, by `npx` in an
// empty folder, on any system: the sandbox sells the Python partner's add-on, and the checker starts that partner and finds
// nothing broken. Needs Python 3 and the npm registry, or for npx's downloads a cache that is filled (npm_config_cache).
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const { console, fetch } = globalThis;
const isWindows = process.platform === "win32";
/** The Python partner as a module, so that no path needs quotation marks within quotation marks. */
const PYTHONPATH = fileURLToPath(new URL("../packages/conformance/examples/python", import.meta.url));
const partner = `${isWindows ? "python" : "python3"} -m partner`;
const WITHIN_MS = 120_000;
const archives = path.resolve(process.argv[2] ?? ".");
/** As seen from the empty folder. (An absolute path npx would run as a program.) */
const archive = (name) => `../${readdirSync(archives).find((file) => file.startsWith(name))}`;

const work = mkdtempSync(path.join(tmpdir(), "stands alone-"));
const empty = path.join(work, "empty");
const cache = process.env.npm_config_cache ?? path.join(work, "cache");

/** Starts a command line as a person types it, in the empty folder. */
function start(commandLine, settings = {}) {
  const env = {
    ...{ ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: "1" },
    ...{ npm_config_cache: cache, npm_config_update_notifier: "false", ...settings },
  };
  const child = spawn(commandLine, {
    ...{ cwd: empty, env, shell: true, detached: !isWindows, windowsHide: true },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => (printed += chunk.toString()));
  const closed = once(child, "close").then(([code]) => code);
  return {
    closed,
    printed: () => printed,
    /** Waits for what it prints; fails with all that it has printed. */
    async until(pattern) {
      let code;
      void closed.then((how) => (code = how ?? "a signal"));
      for (const from = Date.now(); ; await sleep(50)) {
        const found = pattern.exec(printed);
        if (found) return found;
        if (code !== undefined || Date.now() - from > WITHIN_MS)
          throw new Error(`${commandLine} did not print ${pattern}:\n${printed}`);
      }
    },
    /** Ends it with all that it has started. */
    end() {
      if (isWindows) spawnSync("taskkill", ["/pid", `${child.pid}`, "/t", "/f"]);
      else if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, "SIGTERM");
      return closed;
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

async function json(url, body) {
  const how = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const answer = await fetch(url, how);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function trySandbox() {
  const port = await freePort();
  const shared = { ADDON_ID: "example", ADDON_PASSWORD: "of-the-platform", CLIENT_SECRET: "of-the-client" };
  const settings = { ...shared, SANDBOX_PORT: "0", PARTNER_URL: `http://127.0.0.1:${port}` };
  const sandbox = start(`npx --yes "${archive("addon-platform-sandbox-")}"`, settings);
  const running = [sandbox];
  try {
    const [, url] = await sandbox.until(/on (http:\S+);/);
    const platform = { PLATFORM_AUTH_URL: url, PLATFORM_API_URL: url, PLATFORM_STATUS_URL: url };
    running.push(start(partner, { ...shared, ...platform, PORT: String(port) }));
    const page = await (await fetch(url, { headers: { accept: "text/html" } })).text();
    if (!/<title>/.test(page)) throw new Error(`The first page is no page:\n${page}`);
    const answers = async () => (await fetch(`http://127.0.0.1:${port}`).catch(() => null)) !== null;
    for (let tries = 0; !(await answers()); tries++) {
      if (tries === 400) throw new Error(`The partner did not start:\n${running[1].printed()}`);
      await sleep(50);
    }
    const app = await json(`${url}/sandbox/apps`, { name: "shop" });
    const { addon } = await json(`${url}/sandbox/apps/${app.id}/addons`, { plan: "basic" });
    const isSold = async () => {
      const { addons } = await json(`${url}/sandbox/state`);
      const sold = addons.find(({ id }) => id === addon.id);
      return sold?.state === "provisioned" && sold.tokens.length > 0;
    };
    for (let tries = 0; !(await isSold()); tries++) {
      if (tries === 400)
        throw new Error(`The add-on was not sold:\n${running.map((each) => each.printed()).join("\n")}`);
      await sleep(50);
    }
  } finally {
    for (const each of running) await each.end();
  }
}

async function tryChecker() {
  const npx = `npx --yes "${archive("addon-partner-conformance-")}"`;
  const list = start(`${npx} --list`);
  if ((await list.closed) !== 0) throw new Error(list.printed());
  const words = `--command "${partner}" --plan basic --other-plan premium --async-plan slow`;
  const check = start(`${npx} ${words}`, { SSO_SALT: "salt-of-the-sign-on" });
  const code = await check.closed;
  const [verdict = check.printed()] = /\d+ passed, \d+ broken/.exec(check.printed()) ?? [];
  if (code !== 0 || !/, 0 broken$/.test(verdict)) throw new Error(check.printed());
  return verdict;
}

function megabytes(folder) {
  const sizes = readdirSync(folder, { recursive: true })
    .map((file) => statSync(path.join(folder, file), { throwIfNoEntry: false }))
    .map((about) => (about?.isFile() ? about.size : 0));
  return (sizes.reduce((sum, size) => sum + size, 0) / 1e6).toFixed(1);
}

try {
  mkdirSync(empty);
  for (const file of readdirSync(archives)) copyFileSync(path.join(archives, file), path.join(work, file));
  // Nothing that npx does may need to write there.
  if (!isWindows) chmodSync(empty, 0o555);
  const version = `Node ${process.versions.node}, ${process.platform}`;
  await trySandbox();
  console.log(`${version}: the sandbox sold an add-on of the Python partner.`);
  console.log(`${version}: the checker on that partner: ${await tryChecker()}`);
  const left = readdirSync(empty);
  if (left.length > 0) throw new Error(`Files were left in the working folder: ${left.join(", ")}`);
  for (const folder of readdirSync(path.join(cache, "_npx"))) {
    const installed = path.join(cache, "_npx", folder, "node_modules");
    const name = readdirSync(installed).find((each) => each.startsWith("addon-"));
    console.log(`${version}: ${name} with all that it needs has ${megabytes(installed)} MB.`);
  }
} finally {
  if (!isWindows) chmodSync(empty, 0o755);
  rmSync(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}
