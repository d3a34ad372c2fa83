import "./no-inspector.ts";
import { randomBytes } from "node:crypto";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { runConformance } from "../packages/conformance/run.ts";
import { openDatabase } from "../src/database/database.ts";
import { positional } from "../src/database/statement.ts";
import { readChosenEnvironment } from "../src/environment.ts";
import { addonManifest, plansOnSale } from "../src/offer.ts";
import { exitWith } from "../src/process/run-process.ts";
import { offer } from "../src/your-service/plans.ts";
import { temporaryDatabase } from "./temporary-database.ts";

const countCleanUps = positional(
  "conformance_clean_ups",
  `SELECT count(*)::int AS left FROM steps WHERE kind = 'clean_up'`,
);

/** The service's entry point beside this file, independent of the working folder; compiled if this file is. */
const WEB = fileURLToPath(new URL(`../src/web${path.extname(import.meta.url)}`, import.meta.url));
const TSX = import.meta.resolve("tsx");

// `npm run conformance`: checks any partner service, or, if none is named, this one, started for the purpose on a
// database of its own with the plans of `src/your-service`.

const words = process.argv.slice(2);
// Writing to a terminal that was closed fails, but what was installed must still be deprovisioned.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
const isOther = words.some((word) => /^--(url|command|help|list)\b|^-h$/.test(word));

const exitCode = await (
  isOther ? (async () => runConformance(words, readChosenEnvironment()))() : checkThisService()
).catch((error: unknown) => exitWith(error));
// Rules that were interrupted keep waiting for events, so the process must be ended.
process.exit(exitCode);

async function checkThisService(): Promise<number> {
  const database = await temporaryDatabase();
  const id = "conformance";
  // The service is started with these values; those in `.env` are meant for another one.
  Object.assign(process.env, {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: randomBytes(32).toString("hex"),
  });
  const asyncPlan = plansOnSale(offer).find(([, { later }]) => later !== undefined)?.[0];
  const own = [
    "--id",
    id,
    "--sso-salt",
    randomBytes(16).toString("hex"),
    "--command",
    `exec "${process.execPath}" --import "${TSX}" "${WEB}"`,
  ];
  const plans = asyncPlan ? ["--async-plan", asyncPlan] : [];
  const manifest = JSON.stringify(addonManifest(id, offer));
  const all = [...own, ...plans, "--manifest", manifest, ...words];
  return runConformance(all, {}, () => hasCleanedUp(database.url)).finally(database.remove);
}

/** Waits for unfinished clean-ups: in a vendor's own database the last product would otherwise be left for good. */
async function hasCleanedUp(url: string): Promise<boolean> {
  const db = openDatabase({ url, poolSize: 1 });
  try {
    return (await db.query<{ left: number }>(countCleanUps))[0]!.left === 0;
  } finally {
    await db.close();
  }
}
