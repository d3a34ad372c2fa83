import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../../config.ts";
import { HOW_TO_MIGRATE, pendingMigrations, throwInWords } from "../../database/migrate.ts";
import type { OpenContext } from "../../context.ts";
import { databaseAddress } from "../../setting.ts";
import { countKeyUse } from "../../vault/store.ts";
import { keysInUse } from "../keys.ts";
import { counted } from "../wording.ts";
import { fault, fine, warning, type Finding } from "./finding.ts";

// The settings and app.json; the database, and whether what it holds fits them.

/** What is remarkable about settings that are valid: above all what is safe in development alone. */
export function settings(config: Config): Finding {
  const { remarks, allowInsecurePlatform, addonPasswordPrevious, databaseUrl, databaseCa } = config;
  const { hostname, searchParams } = databaseAddress(databaseUrl.reveal())!;
  const isNear =
    /^(localhost|127\.[\d.]+|\[?::1\]?)?$/.test(hostname) || searchParams.get("host")?.startsWith("/");
  const isPlain = /^(|disable|0|false)$/.test(searchParams.get("sslmode") ?? searchParams.get("ssl") ?? "");
  const found = [
    ...remarks,
    allowInsecurePlatform && "ALLOW_INSECURE_PLATFORM is on: secrets may be sent unencrypted.",
    addonPasswordPrevious && "ADDON_PASSWORD_PREVIOUS is still accepted.",
    isPlain && !isNear && !databaseCa && "DATABASE_URL asks for no encryption: add sslmode=verify-full.",
  ].filter(Boolean);
  if (found.length === 0) return fine("All settings are there and make sense.");
  return warning(found.join(" "), "Change them where they are set, unless this is development.");
}

export async function database({ db }: OpenContext): Promise<Finding> {
  const askedMs = performance.now();
  await db.ping().catch(throwInWords);
  return fine(`PostgreSQL answers in ${Math.ceil(performance.now() - askedMs)} ms.`);
}

export async function migrations({ db }: OpenContext): Promise<Finding> {
  const pending = await pendingMigrations(db);
  const lacks = `The database lacks ${counted(pending.length, "migration")}, from ${pending[0]} on.`;
  if (pending.length > 0) return fault(lacks, HOW_TO_MIGRATE);
  return fine("The schema is up to date.");
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
