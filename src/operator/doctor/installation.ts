import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../../config.ts";
import type { OpenContext } from "../../context.ts";
import { compareMigrations, lacks, remarksOn } from "../../database/migration-comparison.ts";
import { throwAsMisconfigured } from "../../database/retry.ts";
import { KitError } from "../../errors.ts";
import { misfitsIn } from "../../options.ts";
import { currentNotice } from "../../people/notice.ts";
import { lackedSince } from "../../processes/judge.ts";
import { databaseAddress } from "../../setting.ts";
import { countKeyUse } from "../../vault/store.ts";
import { buildText } from "../../version.ts";
import { keysInUse } from "../keys.ts";
import { hasMoreRights } from "../store.ts";
import { moment } from "../wording.ts";
import { customersOfOtherPlans, optionsOfCustomers } from "./attention-store.ts";
import { type Finding, fine, found, MOST_NAMED } from "./finding.ts";
import { processesOf } from "./processes.ts";
import { writesTakenUntil } from "./writes.ts";

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
  const remarkable = [
    ...remarks,
    allowInsecurePlatform && "ALLOW_INSECURE_PLATFORM is on: secrets may be sent unencrypted.",
    addonPasswordPrevious && "ADDON_PASSWORD_PREVIOUS is still accepted.",
    isPlain && !isNear && !databaseCa && "DATABASE_URL asks for no encryption: add sslmode=verify-full.",
    isUnverified &&
      "The database's certificate is not verified, for DATABASE_CA or sslmode is no-verify: whoever answers there is trusted.",
  ].filter(Boolean);
  if (remarkable.length === 0) return fine("All settings are there and make sense.");
  return found("settings_remarkable", { words: remarkable.join(" ") });
}

/** As long, the quickest of some answers without work. */
const SLOW_ANSWER_MS = 300;
const VERY_SLOW_ANSWER_MS = 1_500;
/** A process that is busy itself takes some of the time. */
const MOST_TRIES = 3;

export async function database(ctx: OpenContext): Promise<Finding> {
  let ms = Infinity;
  try {
    for (let tries = 0; tries < MOST_TRIES && ms >= SLOW_ANSWER_MS; tries += 1) {
      const askedMs = performance.now();
      await ctx.db.ping();
      ms = Math.min(ms, performance.now() - askedMs);
    }
  } catch (error) {
    if (!(error instanceof KitError && error.id === "database_read_only")) throwAsMisconfigured(error);
    return found("database_unreachable", { words: error.message }, await writesTakenUntil(ctx));
  }
  if (ms < SLOW_ANSWER_MS) return fine(`PostgreSQL answers in ${Math.ceil(ms)} ms.`);
  return found("database_slow", { ms, isVery: ms > VERY_SLOW_ANSWER_MS });
}

export async function migrations({ db }: OpenContext): Promise<Finding[]> {
  const compared = await compareMigrations(db);
  if (compared.pending.length > 0) return [found("migrations_missing", { words: lacks(compared.pending) })];
  const remarks = remarksOn(compared);
  return [
    remarks.length === 0
      ? fine("The schema is up to date.")
      : found("migrations_differ", { words: remarks.join(" ") }),
    ...((await hasMoreRights(db)) ? [found("rights_too_many", {})] : []),
  ];
}

/** At most this many plans are named. */
const MOST_PLANS = 10;

/** Whether every plan that a customer has is on offer: your functions are called with it. */
export async function plans({ db, offer }: OpenContext): Promise<Finding> {
  const others = await customersOfOtherPlans(db, Object.keys(offer.plans), MOST_PLANS + 1);
  const plans = others.slice(0, MOST_PLANS);
  const [only] = plans;
  if (!only) return fine("Every plan that a customer has is on offer.");
  const whom = {
    count: plans.reduce((sum, { count }) => sum + count, 0),
    uuids: plans.flatMap(({ some }) => some).slice(0, MOST_NAMED),
    ...(plans.length === 1 && { list: { plan: only.plan } }),
  };
  return found("plans_not_on_offer", { plans, areMore: others.length > MOST_PLANS }, { whom });
}

/** So many different choices are compared with the schema; of further ones nothing is said. */
const MOST_CHOICES = 10_000;
/** At most this many kinds of misfits are named. */
const MOST_MISFITS = 5;

/** Whether the schema of the offer still takes what each customer chose when installing. */
export async function options({ db, offer: { options: schema } }: OpenContext): Promise<Finding> {
  if (!schema) return fine("The offer has no schema for options.");
  const wrong = (await optionsOfCustomers(db, MOST_CHOICES)).flatMap((chosen) => {
    const misfits = misfitsIn(schema, chosen.options);
    return misfits.length > 0 ? [{ ...chosen, misfits }] : [];
  });
  if (wrong.length === 0) return fine("What each customer chose when installing fits the schema of options.");
  const counts = new Map<string, number>();
  for (const { misfits, count } of wrong)
    for (const misfit of new Set(misfits)) counts.set(misfit, (counts.get(misfit) ?? 0) + count);
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  const count = wrong.reduce((sum, each) => sum + each.count, 0);
  const values = { count, misfits: sorted.slice(0, MOST_MISFITS), areMore: sorted.length > MOST_MISFITS };
  const uuids = wrong.flatMap(({ some }) => some).slice(0, MOST_NAMED);
  return found("options_misfit", values, { whom: { count, uuids } });
}

/** The first version of each line of Node that has its security fixes, as the README names them. */
export const SECURE_NODE = ["22.23.4", "24.22.1", "26.12.1"];

/** Which build this is, and whether its Node gets security fixes; one newer than all of them is taken to. */
export function version(node: string = process.versions.node): Finding {
  const [major, ...rest] = node.split(".").map((part) => Number.parseInt(part));
  const secure = SECURE_NODE.map((each) => each.split(".").map(Number));
  const [line, minor = 0, patch = 0] = secure.find(([first]) => first! >= major!) ?? [];
  const isOld = line === major && (rest[0]! < minor || (rest[0] === minor && rest[1]! < patch));
  if (line === undefined || (line === major && !isOld)) return fine(`${buildText}.`);
  const why = line === major ? "lacks security fixes" : "gets no security fixes: its line has ended";
  return found("node_outdated", { build: buildText, why, versions: SECURE_NODE.join(", ") });
}

export async function keys(ctx: OpenContext): Promise<Finding> {
  const [uses, all, { sealingKey }] = await Promise.all([
    countKeyUse(ctx.db),
    processesOf(ctx),
    ctx.db.prisma(),
  ]);
  const current = await sealingKey.findUnique({ where: { keyId: ctx.vault.keyId } });
  return keysInUse(uses, ctx, (missing) => ({
    missing: lackedSince(all, missing),
    current: current?.firstUsedAt.toISOString(),
  }));
}

/** Whether the platform could make an app from the `app.json` in `folder`. A deployment of `dist/` alone has none. */
export async function manifest(folder = process.cwd()): Promise<Finding> {
  const bytes = await readFile(path.join(folder, "app.json")).catch(() => null);
  if (bytes === null) return fine("There is no app.json here to be checked.");
  const { checkManifestText } = await import("../../manifest/check.ts");
  if (checkManifestText(bytes).manifest) return fine("An app can be made from app.json.");
  return found("manifest_invalid", {});
}

/** What all customers are shown now, lest it outlasts what it is about. */
export async function notice({ db }: OpenContext): Promise<Finding> {
  const current = await currentNotice(db);
  if (!current) return fine("Customers see no notice.");
  const { text, severity, setBy, setAt, until } = current;
  const values = { text, severity, setBy, until: until && moment(until.toISOString()) };
  return found("notice_shown", values, { since: setAt.toISOString() });
}
