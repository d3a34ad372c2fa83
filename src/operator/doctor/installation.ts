import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../../config.ts";
import { HOW_TO_MIGRATE, pendingMigrations, throwInWords } from "../../database/migrate.ts";
import { messageOf, Misconfigured } from "../../errors.ts";
import type { OpenContext } from "../../context.ts";
import { databaseAddress } from "../../setting.ts";
import { countKeyUse, type KeyUse } from "../../vault/store.ts";
import { buildText } from "../../version.ts";
import { counted } from "../wording.ts";
import { fault, fine, warning, type Finding } from "./finding.ts";

// The settings, the build and app.json; the database, and whether what it holds fits them.

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
  try {
    await db.ping().catch(throwInWords);
    return fine(`PostgreSQL answers in ${Math.ceil(performance.now() - askedMs)} ms.`);
  } catch (error) {
    return fault(
      error instanceof Misconfigured ? error.message : `It does not answer: ${messageOf(error)}`,
      error instanceof Misconfigured
        ? "Fix what DATABASE_URL names, or what its user may do: no process starts with it, and one that runs waits."
        : "Is it running, no standby, its disk not full, and is DATABASE_URL the right address? The service waits for it and goes on by itself.",
    );
  }
}

export async function migrations({ db }: OpenContext): Promise<Finding> {
  const pending = await pendingMigrations(db);
  const lacks = `The database lacks ${counted(pending.length, "migration")}, from ${pending[0]} on.`;
  if (pending.length > 0) return fault(lacks, HOW_TO_MIGRATE);
  return fine("The schema is up to date.");
}

/** Whether every plan that a customer has is still on offer: the vendor's functions are called with it. */
export async function plans({ db, offer }: OpenContext): Promise<Finding> {
  const missing = await (
    await db.prisma()
  ).resource.groupBy({
    ...{ by: ["plan"], _count: true, orderBy: { plan: "asc" }, take: 10 },
    where: { state: { in: ["provisioning", "provisioned"] }, plan: { notIn: Object.keys(offer.plans) } },
  });
  if (missing.length === 0) return fine("Every plan that a customer has is on offer.");
  const named = missing.map(({ plan, _count }) => `${plan} (${counted(_count, "resource")})`);
  return warning(
    `Customers have plans that are not on offer: ${named.join(", ")}.`,
    "Put them back into src/your-service/plans.ts: a plan's name stays as long as a customer has it.",
  );
}

/** Which keys are in use, and whether an old one can be dropped: each sealed value names its key. */
export async function keys({ db, vault, config }: OpenContext): Promise<Finding> {
  const uses = await countKeyUse(db);
  const listed = (some: readonly KeyUse[]) =>
    some.map(({ keyId, rows }) => `${keyId} (${counted(rows, "row")})`).join(", ");
  const missing = uses.filter(({ keyId }) => !vault.keyIds.includes(keyId));
  if (missing.length > 0)
    return fault(
      `Sealed with keys that are not in the ring: ${listed(missing)}.`,
      "Put the old key into DECRYPTION_KEYS, or nothing it sealed can be opened.",
    );
  const now = `ENCRYPTION_KEY (${vault.keyId}) seals ${counted(uses.find(({ keyId }) => keyId === vault.keyId)?.rows ?? 0, "row")}`;
  const old = uses.filter(({ keyId }) => keyId !== vault.keyId);
  if (old.length > 0)
    return warning(
      `${now}; older keys still seal some: ${listed(old)}.`,
      "When all processes run with the new ENCRYPTION_KEY, run: kit keys reseal",
    );
  if (!config.decryptionKeys?.length) return fine(`${now}.`);
  return warning(
    `${now}, and nothing is sealed with any of DECRYPTION_KEYS.`,
    "An old key can be dropped 12 hours after no process seals with it any more. A new one stays: make it ENCRYPTION_KEY next.",
  );
}

export const version = (): Finding => fine(`${buildText}.`);

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
