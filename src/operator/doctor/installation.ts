import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../../config.ts";
import type { OpenContext } from "../../context.ts";
import { throwAsMisconfigured } from "../../database/database.ts";
import { compareMigrations, HOW_TO_MIGRATE, lacks, remarksOn } from "../../database/migrations.ts";
import { databaseAddress } from "../../setting.ts";
import { countKeyUse } from "../../vault/store.ts";
import { buildText } from "../../version.ts";
import { keysInUse } from "../keys.ts";
import { hasMoreRights } from "../store.ts";
import { counted } from "../wording.ts";
import { fault, type Finding, fine, warning } from "./finding.ts";
import { plansNotOffered } from "./store.ts";

// The settings and app.json; the database, and whether what it holds fits them.

/** What is remarkable about settings that are valid: above all what is safe in development alone. */
export function settings(config: Config): Finding {
  const { remarks, allowInsecurePlatform, addonPasswordPrevious, databaseUrl, databaseCa } = config;
  const { hostname, searchParams } = databaseAddress(databaseUrl.reveal())!;
  const isNear =
    /^(localhost|127\.[\d.]+|\[?::1\]?)?$/.test(hostname) || searchParams.get("host")?.startsWith("/");
  const sslMode = searchParams.get("sslmode") ?? searchParams.get("ssl") ?? "";
  const isPlain = /^(|disable|0|false)$/.test(sslMode);
  const isUnverified = (databaseCa ?? sslMode) === "no-verify" && !isNear;
  const found = [
    ...remarks,
    allowInsecurePlatform && "ALLOW_INSECURE_PLATFORM is on: secrets may be sent unencrypted.",
    addonPasswordPrevious && "ADDON_PASSWORD_PREVIOUS is still accepted.",
    isPlain && !isNear && !databaseCa && "DATABASE_URL asks for no encryption: add sslmode=verify-full.",
    isUnverified &&
      "The database's certificate is not verified, for DATABASE_CA or sslmode is no-verify: whoever answers there is trusted.",
  ].filter(Boolean);
  if (found.length === 0) return fine("All settings are there and make sense.");
  return warning(found.join(" "), "Change them where they are set, unless this is development.");
}

export async function database({ db }: OpenContext): Promise<Finding> {
  const askedMs = performance.now();
  await db.ping().catch(throwAsMisconfigured);
  return fine(`PostgreSQL answers in ${Math.ceil(performance.now() - askedMs)} ms.`);
}

export async function migrations({ db }: OpenContext): Promise<Finding[]> {
  const found = await compareMigrations(db);
  if (found.pending.length > 0) return [fault(lacks(found.pending), HOW_TO_MIGRATE)];
  const remarks = remarksOn(found);
  const edited = warning(remarks.join(" "), 'See docs/upgrade.md, "How a migration can end".');
  const more = "The service's role has rights that it does not need: it may delete the audit trail.";
  const rights = warning(more, "Run ops/database-rights.sql as the owner of the tables (docs/database.md).");
  return [
    remarks.length === 0 ? fine("The schema is up to date.") : edited,
    ...((await hasMoreRights(db)) ? [rights] : []),
  ];
}

/** At most this many plans are named. */
const MOST_PLANS = 10;

/** Whether every plan that a customer has is on offer: your functions are called with it. */
export async function plans({ db, offer }: OpenContext): Promise<Finding> {
  const others = await plansNotOffered(db, { offered: Object.keys(offer.plans), most: MOST_PLANS + 1 });
  if (others.length === 0) return fine("Every plan that a customer has is on offer.");
  const named = others
    .slice(0, MOST_PLANS)
    .map(({ plan, count }) => `${plan} (${counted(count, "resource")})`);
  const more = others.length > MOST_PLANS ? ", and more" : "";
  return warning(
    `Customers have plans that are not on offer: ${named.join(", ")}${more}.`,
    "Put them back into src/your-service/plans.ts: a plan stays there as long as a customer has it. kit resources list --search PLAN lists them.",
  );
}

/** The first version of each line of Node that has its security fixes, as the README names them. */
export const SECURE_NODE = ["22.23.4", "24.22.1", "26.12.1"];

/** Which build this is, and whether its Node gets security fixes; one newer than all of them is taken to. */
export function version(node: string = process.versions.node): Finding {
  const [major, ...rest] = node.split(".").map((part) => Number.parseInt(part));
  const found = SECURE_NODE.map((each) => each.split(".").map(Number)).find(([line]) => line! >= major!);
  const [line, minor = 0, patch = 0] = found ?? [];
  const isOld = line === major && (rest[0]! < minor || (rest[0] === minor && rest[1]! < patch));
  if (line === undefined || (line === major && !isOld)) return fine(`${buildText}.`);
  const why = line === major ? "lacks security fixes" : "gets no security fixes: its line has ended";
  return warning(
    `${buildText}. This version of Node ${why}.`,
    `Run ${SECURE_NODE.join(", ")}, or newer of these lines.`,
  );
}

export const keys = async (ctx: OpenContext) => keysInUse(await countKeyUse(ctx.db), ctx);

/** Whether the platform could make an app from the `app.json` in `folder`. A deployment of `dist/` alone has none. */
export async function manifest(folder = process.cwd()): Promise<Finding> {
  const bytes = await readFile(path.join(folder, "app.json")).catch(() => null);
  if (bytes === null) return fine("There is no app.json here to be checked.");
  const { checkManifestText } = await import("../../manifest/check.ts");
  if (checkManifestText(bytes).manifest) return fine("An app can be made from app.json.");
  return fault(
    "app.json breaks rules of the platform: no app can be made from it.",
    "See each with: kit manifest check app.json",
  );
}
