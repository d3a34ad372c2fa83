import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryPostgresql } from "../../dev/postgresql.ts";
import { startSandbox } from "../../packages/sandbox/index.ts";
import { yourEnvironment } from "../../src/config.ts";
import { addonManifest } from "../../src/offer.ts";
import { addonId, offer } from "../../src/your-service/plans.ts";
import { startDatabaseProxy } from "../../test/support/database-proxy.ts";
import { startBalancer } from "./balancer.ts";
import { createCustomers } from "./customers.ts";
import { createDatabase } from "./database.ts";
import { type Fleet, startFleet } from "./fleet.ts";
import { createHistory } from "./history.ts";
import { watchLoad } from "./load.ts";
import { type Options, readOptions } from "./options.ts";
import { createRandom } from "./random.ts";
import { createReleases } from "./releases.ts";
import { exitCodeOf, report } from "./report.ts";
import { comeToRest } from "./rest.ts";
import { createRotations } from "./rotations.ts";
import { createStorm } from "./storm.ts";
import { judge } from "./verdict.ts";

// Two web and two worker processes from dist/, a PostgreSQL of its own (or that of TEST_DATABASE_URL) behind a proxy, and
// the sandbox as the platform: for some minutes everything goes wrong that can, and then the platform's ledger shows
// what was lost.
// npm run chaos [-- --minutes 3] [--seed 42] [--resources 60] [--before ../release-before/dist]
// Exit codes: 0, every promise holds; 3, nothing was found but what a slow machine explains; 2, used wrongly; else 1.

/** Short, so that every token is refreshed many times. */
const LIFE_SECONDS = 60;
/** The connections that each process may have. */
const POOL = 8;
const NAMES = ["web-1", "web-2", "worker-1", "worker-2"];
/** The time limit after the storm, for its last strikes, the backlog and the verdict. A run that takes longer hangs. */
const LONGEST_END_MINUTES = 10;
/** The time limit for the clean-up. */
const LONGEST_CLOSE_MS = 30_000;

const options = readCommandLine();

// Everything that is opened registers its closing here.
const closings: (() => Promise<unknown>)[] = [];
const opened = <Thing extends { close(): Promise<unknown> }>(thing: Thing): Thing => {
  closings.unshift(() => thing.close());
  return thing;
};
let exitCode = 1;
try {
  exitCode = await Promise.race([run(options), hanging(options), interrupted()]);
} catch (error) {
  console.error(error);
} finally {
  await Promise.race([closeAll(), sleep(LONGEST_CLOSE_MS)]);
}
process.exit(exitCode);

async function closeAll(): Promise<void> {
  for (const close of closings) await close().catch((error: unknown) => console.error(error));
}

/** Rejects on a signal, so that a run that is stopped is cleaned up too. */
function interrupted(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.once(signal, () => reject(new Error(`Stopped by ${signal}.`)));
  });
}

async function run({ minutes, seed, resources, before }: Options): Promise<number> {
  console.log(`Chaos for ${minutes} min, seed ${seed} (--seed ${seed} repeats the strikes and their order)`);
  const history = createHistory();
  const releases = createReleases(before);
  const folder = await mkdtemp(path.join(tmpdir(), "chaos-"));
  let isKept = false;
  closings.push(async () => isKept || rm(folder, { recursive: true }));
  const database = opened(await createDatabase(process.env["TEST_DATABASE_URL"] ?? (await ownServer())));
  const proxy = opened(await startDatabaseProxy(database.url));
  const sandbox = opened(
    await startSandbox({
      addonManifest: addonManifest(addonId, offer),
      expiresIn: LIFE_SECONDS,
      ledgerSize: 2_000_000,
    }),
  );
  const rotations = createRotations({
    ...{ sandbox, random: createRandom(seed + 3), history },
    fleet: () => fleet,
    kit: releases.kit,
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
  const migration = spawnSync(process.execPath, [releases.kit(), "migrate"], {
    env: { PATH: process.env["PATH"], ...rotations.settings(), DATABASE_URL: database.url },
    encoding: "utf8",
  });
  if (migration.status !== 0)
    throw new Error(`The migration failed:\n${migration.stdout}${migration.stderr}`);

  // Each process reaches the platform through a balancer of its own, and connects to the database under its name: so
  // the ledger and the database can tell the processes apart.
  const sandboxPort = Number(new URL(sandbox.url).port);
  const lines = new Map<string, string>();
  for (const name of NAMES) lines.set(name, opened(await startBalancer(() => [sandboxPort])).url);
  const settings = (name: string) => {
    const databaseUrl = new URL(proxy.url);
    databaseUrl.searchParams.set("application_name", name);
    const url = lines.get(name)!;
    const own = { PLATFORM_API_URL: url, PLATFORM_AUTH_URL: url, DATABASE_URL: databaseUrl.href };
    return { ...rotations.settings(), ...own };
  };
  const fleet: Fleet = await startFleet({ names: NAMES, settings, folder, programs: releases.programs });
  sandbox.control.partner({ partnerUrl: opened(await startBalancer(fleet.ports)).url });

  const customers = createCustomers(sandbox, createRandom(seed + 2), history);
  const storm = createStorm({
    ...{ sandbox, fleet, proxy, customers, rotations, history },
    order: createRandom(seed),
    random: createRandom(seed + 1),
  });
  await Promise.all(Array.from({ length: resources }, () => customers.install()));

  const watching = watchLoad({ ask: database.ask, fleet, history, pool: POOL });
  const until = Date.now() + minutes * 60_000;
  const pauses = createRandom(seed + 4);
  const keepDoing = async (work: () => Promise<void>, leastMs: number, mostMs: number) => {
    while (Date.now() < until) {
      await work();
      await sleep(pauses.between(leastMs, mostMs));
    }
  };
  /** Rotates the encryption key a third into the run, while everything else goes on. */
  const rotateKeysOnce = async () => {
    await sleep((until - Date.now()) / 3);
    history.count("encryption key rotated");
    await rotations.encryptionKey();
  };
  /** Updates the service a quarter into the run; both releases run until three quarters of it are over. */
  const updateOnce = async () => {
    await sleep((until - Date.now()) / 4);
    const settings = { ...rotations.settings(), DATABASE_URL: database.url };
    const sideBySideMs = (until - Date.now()) * (2 / 3);
    await releases.update({ fleet, customers, history, settings, sideBySideMs });
  };
  await Promise.all([
    ...Array.from({ length: 3 }, () => keepDoing(customers.act, 200, 2_400)),
    keepDoing(storm.strike, 500, 3_000),
    rotateKeysOnce(),
    before !== null && updateOnce(),
  ]);
  await storm.over();

  const load = await watching.stop();
  sandbox.control.settings({ expiresIn: 28_800 });
  const left = await comeToRest({ sandbox, fleet, proxy, ask: database.ask });
  const stops = await fleet.stop();
  stops.forEach((stop, index) => history.stops.push({ name: fleet.members[index]!.name, ...stop }));
  const findings = await judge({
    ...{ sandbox, ask: database.ask, fleet, history, left, load },
    settings: rotations.settings(),
    callers: new Map([...lines].map(([name, url]) => [new URL(url).host, name])),
    lifeSeconds: LIFE_SECONDS,
  });
  console.log(report(findings, history));
  const code = exitCodeOf(findings);
  isKept = code !== 0;
  if (isKept) console.log(`What the service said: ${fleet.outputFile}`);
  return code;
}

/** Starts a PostgreSQL for this run, and answers its address. */
async function ownServer(): Promise<string> {
  const { url, stop } = await temporaryPostgresql();
  closings.unshift(stop);
  return url;
}

async function hanging({ minutes }: Options): Promise<never> {
  await sleep((minutes + LONGEST_END_MINUTES) * 60_000);
  throw new Error(`The run did not end within ${LONGEST_END_MINUTES} minutes after its storm.`);
}

function readCommandLine(): Options {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
