import { randomBytes } from "node:crypto";
import { type Sandbox, type SandboxSettings, startSandbox } from "../../packages/sandbox/index.ts";
import type { Parts } from "../../src/context.ts";
import { type Database, openDatabase } from "../../src/database/database.ts";
import { positional } from "../../src/database/statement.ts";
import type { Environment } from "../../src/environment.ts";
import { addonManifest } from "../../src/offer.ts";
import type { Pace } from "../../src/pace.ts";
import { runWeb } from "../../src/process/run-web.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { aFreshDatabase, forTests, patient } from "./database.ts";
import { eventually } from "./eventually.ts";
import { forged } from "./forged.ts";
import { sellers } from "./sellers.ts";
import { type Time, timeOf } from "./time.ts";

export { eventually } from "./eventually.ts";

/** A platform, a service and a database for one test file. */
export interface World extends Time {
  sandbox: Sandbox;
  service: RunningService;
  db: Database;
  /** Everything the service has logged so far. */
  logged(): string;
  /** The lines of that which contain all of these texts. */
  lines(...texts: string[]): string[];
  /** The environment for starting another process of the same service. */
  environment: Environment;
  /** Stops the service and starts it again, with other settings or parts. */
  restart(change?: { environment?: Environment; parts?: Partial<Parts> }): Promise<void>;
  /** States of rows that a test cannot wait for. */
  forged: ReturnType<typeof forged>;
  /** Rows of a statement, for checking the database directly. */
  rows<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /**
   * Resolves when nothing is left to do for these resources: tokens are stored, the app is known. Until then, calls of
   * the service may appear in the ledger at any moment.
   */
  quiet(uuids: string[]): Promise<void>;
  /** Installs an add-on and waits until it is quiet. */
  settled(plan?: string): Promise<string>;
  /** Installs so many of the basic plan, and waits until they are quiet; their uuids in order. */
  installed(count: number): Promise<string[]>;
  close(): Promise<void>;
}

export interface Wishes {
  /** What the service sells: the teapots of the kit's tests, or the offer of `src/your-service`. */
  sells?: keyof typeof sellers;
  sandbox?: Partial<SandboxSettings>;
  environment?: Environment;
  parts?: Partial<Parts>;
}

export async function aWorld({
  sells = "teapots",
  sandbox: platform = {},
  environment: extra = {},
  parts = {},
}: Wishes = {}): Promise<World> {
  const database = await aFreshDatabase();
  const seller = sellers[sells];
  const manifest = addonManifest("teapots", parts.offer ?? seller.parts.offer);
  const sandbox = await startSandbox({ addonManifest: manifest, ...platform });
  const databaseOfService = { DATABASE_URL: patient(database.settings.url) };
  const environment = { ...environmentFor(sandbox), ...databaseOfService, ...extra };
  const lines: string[] = [];
  const logTo = { write: (line: string) => void lines.push(line) };
  const start = async (change: Wishes = {}) => {
    const service = await runWeb(seller.config({ ...environment, ...change.environment }), {
      logTo,
      ...seller.parts,
      ...parts,
      ...change.parts,
      pace: { ...UNHURRIED, ...(change.parts?.pace ?? parts.pace ?? QUICK) },
    });
    await service.ready;
    sandbox.control.partner({ partnerUrl: service.url! });
    return service;
  };
  let service = await start();
  const db = openDatabase({ ...database.settings, url: forTests(database.settings.url) });
  let asked = 0;
  const quiet = async (uuids: string[]) => {
    await eventually(async () => {
      const [row] = await db.query<{ quiet: number }>(countQuiet, [uuids]);
      return row!.quiet === uuids.length;
    });
  };
  return {
    sandbox,
    environment,
    db,
    forged: forged({ db }),
    ...timeOf({ db, sandbox, service: () => service }),
    get service() {
      return service;
    },
    logged: () => lines.join(""),
    lines: (...texts) => lines.filter((line) => texts.every((text) => line.includes(text))),
    async restart(change) {
      await service.stop();
      service = await start(change);
    },
    rows: (text, values = []) => db.query(positional(`test_${(asked += 1)}`, text), values),
    quiet,
    async settled(plan = "basic") {
      const { addon } = await sandbox.control.install({ plan });
      await quiet([addon.id]);
      return addon.id;
    },
    async installed(count) {
      const installs = Array.from({ length: count }, () => sandbox.control.install({ plan: "basic" }));
      const uuids = (await Promise.all(installs)).map(({ addon }) => addon.id).sort();
      await quiet(uuids);
      return uuids;
    },
    async close() {
      await db.close();
      await service.stop();
      await sandbox.close();
      await database.close();
    },
  };
}

/**
 * What all tests of a file use: opened before the first of them, closed after the last. Its members are there once it
 * is open.
 */
export function opened<Made extends { close(): unknown }>(open: () => Promise<Made>): Made {
  const made = {} as Made;
  beforeAll(async () => {
    Object.defineProperties(made, Object.getOwnPropertyDescriptors(await open()));
  });
  afterAll(() => (made as Partial<Made>).close?.());
  return made;
}

/**
 * A function that is slow only because the machine stands still is no slow one: its result is the answer, and not "later".
 * Less than the platform waits for the answer.
 */
export const UNHURRIED = { vendorMs: 15_000 } satisfies Partial<Pace>;

/** Shorter times than the service's own, so that tests do not wait for it. */
export const QUICK: Partial<Pace> = {
  ...UNHURRIED,
  exchangeAfterMs: 150,
  pauses: 0.1,
  lastOrdersMs: 25,
  refusalMs: 0,
  logAgainMs: 0,
  freshMs: 50,
  probeMs: 50,
  gatherMs: 200,
};

const countQuiet = positional(
  "test_count_quiet",
  `SELECT count(*)::int AS quiet FROM credentials c WHERE uuid = ANY($1::uuid[])
     AND state = 'active' AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.uuid = c.uuid)`,
);

function environmentFor({ url, settings }: Sandbox): Environment {
  return {
    PORT: "0",
    ADDON_ID: settings.addonId,
    ADDON_PASSWORD: settings.addonPassword,
    CLIENT_SECRET: settings.clientSecret,
    ENCRYPTION_KEY: randomBytes(24).toString("hex"),
    PLATFORM_API_URL: url,
    PLATFORM_AUTH_URL: url,
    PLATFORM_STATUS_URL: url,
    ALLOW_INSECURE_PLATFORM: "on",
    LOG_LEVEL: "debug",
  };
}
