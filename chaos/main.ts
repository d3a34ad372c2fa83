import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startSandbox } from "../sandbox/index.ts";
import { yourEnvironment } from "../src/config.ts";
import { addonManifest } from "../src/operator/addon-manifest.ts";
import { offer } from "../src/your-service/plans.ts";
import { startBalancer } from "./balancer.ts";
import { createCustomers } from "./customers.ts";
import { createDatabase } from "./database.ts";
import { startDatabaseProxy } from "../test/support/database-proxy.ts";
import { startFleet } from "./fleet.ts";
import { createHistory } from "./history.ts";
import { watchLoad } from "./load.ts";
import { createRandom } from "./random.ts";
import { report } from "./report.ts";
import { comeToRest } from "./rest.ts";
import { createRotations } from "./rotations.ts";
import { createStorm } from "./storm.ts";
import { judge } from "./verdict.ts";

// Two web and two worker processes from dist/, a real PostgreSQL behind a proxy, the sandbox as the platform; for some
// minutes everything goes wrong that can, and then the platform's ledger says what was lost.
// npm run chaos [-- --minutes 3] [--seed 42] [--resources 60]

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "3" },
    seed: { type: "string", default: String(randomInt(1_000_000)) },
    resources: { type: "string", default: "60" },
  },
});
const serverUrl = process.env["TEST_DATABASE_URL"];
if (!serverUrl) {
  console.error(
    "Set TEST_DATABASE_URL to a PostgreSQL whose role may create databases: postgresql://user@host/postgres",
  );
  process.exit(2);
}
/** Short, so that every token is refreshed many times. */
const LIFE_SECONDS = 60;
/** Connections a process may have. */
const POOL = 8;
const KIT = fileURLToPath(new URL("../dist/kit.js", import.meta.url));

console.log(`Chaos for ${values.minutes} min, seed ${values.seed} (repeat it with --seed ${values.seed})`);
const random = createRandom(Number(values.seed));
const history = createHistory();
const folder = await mkdtemp(path.join(tmpdir(), "chaos-"));
const database = await createDatabase(serverUrl);
const proxy = await startDatabaseProxy(database.url);
const sandbox = await startSandbox({
  addonManifest: addonManifest("teapots", offer),
  expiresIn: LIFE_SECONDS,
  ledgerSize: 2_000_000,
});
const rotations = createRotations({
  ...{ sandbox, random, history },
  fleet: () => fleet,
  base: {
    ...yourEnvironment(),
    DATABASE_URL: proxy.url,
    ADDON_ID: sandbox.settings.addonId,
    ADDON_PASSWORD: sandbox.settings.addonPassword,
    CLIENT_SECRET: sandbox.settings.clientSecret,
    PLATFORM_API_URL: sandbox.url,
    PLATFORM_AUTH_URL: sandbox.url,
    PLATFORM_STATUS_URL: sandbox.url,
    ALLOW_INSECURE_PLATFORM: "on",
    SWEEP_CRON: "*/5 * * * * *",
    DATABASE_POOL: String(POOL),
    LOG_LEVEL: "info",
  },
});
for (const secret of [sandbox.settings.addonPassword, sandbox.settings.clientSecret])
  history.secrets.add(secret);
const migration = spawnSync(process.execPath, [KIT, "migrate"], {
  env: { PATH: process.env["PATH"], ...rotations.settings(), DATABASE_URL: database.url },
  encoding: "utf8",
});
if (migration.status !== 0) throw new Error(`The migration failed:\n${migration.stdout}${migration.stderr}`);
const fleet = await startFleet({ webs: 2, workers: 2, settings: rotations.settings, folder });
const balancer = await startBalancer(fleet.ports);
sandbox.control.partner({ partnerUrl: balancer.url });

const customers = createCustomers(sandbox, random, history);
const strike = createStorm({ sandbox, fleet, proxy, customers, rotations, random, history });
await Promise.all(Array.from({ length: Number(values.resources) }, () => customers.install()));

const watching = watchLoad({ ask: database.ask, fleet, pool: POOL });
const until = Date.now() + Number(values.minutes) * 60_000;
const isOn = () => Date.now() < until;
await Promise.all([keepDoing(customers.act, 100, 1_200), keepDoing(strike, 500, 3_000), rotateKeysOnce()]);

const load = await watching.stop();
const left = await comeToRest({ sandbox, fleet, proxy, ask: database.ask });
sandbox.control.settings({ expiresIn: 28_800 });
const stops = await fleet.stop();
stops.forEach((stop, index) => history.stops.push({ name: fleet.members[index]!.name, ...stop }));
const findings = await judge({ ...{ sandbox, fleet, history, left, load }, ask: database.ask, settings: rotations.settings(), lifeSeconds: LIFE_SECONDS }); // prettier-ignore
console.log(report(findings, history));

await Promise.all([balancer.close(), proxy.close(), sandbox.close()]);
await database.close();
const holds = findings.every(({ against }) => against.length === 0);
if (holds) await rm(folder, { recursive: true });
else console.log(`What the service said: ${fleet.outputFile}`);
process.exit(holds ? 0 : 1);

async function keepDoing(work: () => Promise<void>, leastMs: number, mostMs: number): Promise<void> {
  while (isOn()) {
    await work();
    await wait(random.between(leastMs, mostMs));
  }
}

/** In the middle of the run, while everything else goes on. */
async function rotateKeysOnce(): Promise<void> {
  await wait((until - Date.now()) / 3);
  await history.disturbed("encryption key rotated", rotations.encryptionKey);
}
