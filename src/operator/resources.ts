import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import type { Step } from "../database/client/client.ts";
import { databaseClock } from "../database/clock.ts";
import type { Database } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import type { Queryable } from "../database/statement.ts";
import { Refusal } from "../errors.ts";
import { readReason, storeImportedSuspension } from "../extend/suspension-store.ts";
import { wakeBy } from "../jobs/run.ts";
import { forgetAbout, type MarkKind } from "../ledgers/store.ts";
import { createLog } from "../logging/log.ts";
import { PACE } from "../pace.ts";
import type { Named } from "../platform/types.ts";
import type { Offer, Suspended } from "../resources/contract.ts";
import { deprovision } from "../resources/deprovision.ts";
import { forgetKept } from "../resources/end-store.ts";
import type { ProvisionRequest } from "../resources/rows.ts";
import { isAlive, RESOURCE_STATES } from "../resources/states.ts";
import { findResource, insertProvisions, storeImportedApp } from "../resources/store.ts";
import { createScrubber } from "../secret.ts";
import { NO_TRACE } from "../trace/trace.ts";
import { isJsonObject, parsedJson, readUuid } from "../values.ts";
import { actionsBefore } from "./audit.ts";
import { UnknownResource } from "./errors.ts";
import { storyOf } from "./events.ts";
import { isWrittenBy, readRecords, type RecordRow } from "./records-store.ts";
import type { How } from "./work-through.ts";

/** One add-on resource as operators see it, without secrets. Times are ISO 8601, UTC. */
export type ResourceRecord = ReturnType<typeof recordOf>;

/** {@link ResourceRecord} with its waiting steps, its last 300 events (oldest first), and what operators did (newest first). */
export type WholeResource = Awaited<ReturnType<typeof showResource>>;

export type WaitingStep = WholeResource["steps"][number];

const MOST_EVENTS = 300;
export const GONE: MarkKind = "gone_at_platform";

/** In the order of the uuids. */
export const recordsOf = async (db: Queryable, uuids: readonly string[]): Promise<ResourceRecord[]> =>
  (await readRecords(db, uuids)).map(recordOf);

/** All that is stored of one resource. Throws {@link UnknownResource}. */
export async function showResource(db: Database, uuid: string) {
  const [record] = await recordsOf(db, [uuid]);
  if (!record) throw new UnknownResource(uuid);
  const events = await storyOf(db, uuid, MOST_EVENTS);
  const prisma = await db.prisma();
  const steps = await prisma.step.findMany({ where: { uuid }, orderBy: { id: "asc" } });
  const nowMs = await databaseClock(db);
  return {
    ...record,
    steps: steps.map((step) => waiting(step, nowMs)),
    events: events.map(({ at, type, detail }) => ({ at, type, detail })),
    actions: (await actionsBefore(db, null, uuid)).entries,
    /** When it was read, by the database's clock: what is to come is later. */
    readAt: new Date(nowMs).toISOString(),
  };
}

function recordOf(row: RecordRow) {
  const { uuid, name, plan, region, state, suspendedAt, appId, appName, attachedAs, createdAt, updatedAt } =
    row;
  return {
    uuid,
    name,
    plan,
    region,
    state,
    suspended: suspendedAt && { since: suspendedAt.toISOString(), reason: row.suspendReason! },
    credential: credentialOf(row),
    app: appId === null ? null : { id: appId, name: appName ?? appId },
    /** The name that takes the place of the declared prefix in the app's config vars; null: it is none. */
    attachedAs,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

function credentialOf(row: RecordRow) {
  const { credential: state, reason, generation, lastError, secretVersion, flags, expiresAt, dueAt } = row;
  const hasTokens = state === "active" || state === "needs_reauth";
  return {
    state,
    reason,
    /** How many token pairs were stored. */
    generation,
    expiresAt: expiresAt?.toISOString() ?? null,
    refreshDueAt: hasTokens ? (dueAt?.toISOString() ?? null) : null,
    lastError,
    secretVersion,
    /** The key that sealed the access token or, before there is one, the grant code. */
    keyId: row.keyId,
    /** What was odd about the platform's last token answer; and whether it no longer has the add-on. */
    flags: row.isGone && isAlive(row.state) ? [...flags, GONE] : flags,
  };
}

function waiting({ kind, attempts, lastError, detail, dueAt, leasedUntil }: Step, nowMs: number) {
  const { said = null, plan = null } = Object(detail) as { said?: string; plan?: string };
  return {
    kind,
    /** The new plan of a plan change. */
    plan,
    /** How often it was tried; counted anew each time the vendor's service answers "later". */
    tries: attempts,
    lastError,
    /** What the vendor's service said last about unfinished work. */
    said,
    /** Null: it waits for a working token; at the end of a plan change, also for there to be none any more. */
    nextTryAt: dueAt?.toISOString() ?? null,
    isUnderWay: leasedUntil !== null && leasedUntil.getTime() > nowMs,
  };
}

/**
 * Does locally what a deprovision by the platform would do; it needs no keys, and the service carries out the clean-up. Of
 * a tombstone it clears what its events say, what its clean-up keeps, and what is kept of it as a lost sale; of a uuid that only the platform asked
 * about, that it did. Throws {@link UnknownResource}.
 */
export async function eraseResource(db: Database, uuid: string): Promise<{ erased: string }> {
  // `deprovision` would store a tombstone for an unknown uuid too, as for requests that arrive out of order.
  if (!(await findResource(db, uuid))) {
    if (await forgetAbout(db, uuid)) return { erased: uuid };
    throw new UnknownResource(uuid);
  }
  const log = createLog("silent", createScrubber(""));
  try {
    await deprovision({ db, log, pace: PACE, trace: NO_TRACE, wake: wakeBy(() => undefined) }, uuid);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    await forgetKept(db, uuid);
    const { event, lostSale } = await db.prisma();
    await event.updateMany({ where: { uuid }, data: { detail: {} } });
    await lostSale.updateMany({ where: { uuid }, data: { name: null } });
  }
  await forgetAbout(db, uuid);
  return { erased: uuid };
}

/**
 * `exists`: the uuid is stored already, or an earlier line named it. `not_provisioned`: the line is of an export, and its
 * resource had ended, or was not made yet.
 */
type Reason = "exists" | "no_uuid" | "unknown_plan" | "bad_text" | "not_provisioned";

/** Imports installations from before the kit, one JSON object a line. A run that was stopped is simply repeated. */
export async function importInstallations(
  ctx: Pick<Context, "db" | "vault" | "offer" | "pace">,
  lines: AsyncIterable<string>,
  { signal, onProgress }: How,
) {
  const report = { imported: 0, skipped: [] as { line: number; uuid: string | null; reason: Reason }[] };
  let line = 0;
  for await (const text of lines) {
    if (signal.aborted) break;
    line += 1;
    if (text.trim() === "") continue;
    const read = readInstallation(text, ctx.offer);
    if ("reason" in read) report.skipped.push({ line, ...read });
    else if (await importOne(ctx, read)) report.imported += 1;
    else report.skipped.push({ line, uuid: read.uuid, reason: "exists" });
    onProgress?.(report.imported + report.skipped.length, 0);
  }
  return report;
}

export type Installation = Pick<ProvisionRequest, "uuid" | "plan" | "region" | "name"> & {
  app: Named | null;
  suspended: Suspended | null;
};

const NOTHING = {
  options: {},
  callbackUrl: null,
  logInputUrl: null,
  logDrainToken: null,
  grant: null,
};

/** False: the uuid was stored before. */
export async function importOne(
  ctx: Pick<Context, "db" | "vault" | "pace">,
  { app, suspended, ...installation }: Installation,
): Promise<boolean> {
  const { uuid } = installation;
  // By it the row is found that an earlier try wrote, of which the acknowledgement was lost.
  const requestId = randomUUID();
  const answer = { status: 200, body: JSON.stringify({ id: uuid }) };
  const row = { request: { ...NOTHING, ...installation, requestId }, answer, traceparent: null };
  return retryWhileUnreachable(async () => {
    const stored = await ctx.db.transaction(async (tx) => {
      const [born] = await insertProvisions({ ...ctx, db: tx }, [row]);
      if (born && app) await storeImportedApp(tx, uuid, app);
      if (born && suspended) await storeImportedSuspension(tx, uuid, suspended);
      return born;
    });
    return stored !== null || isWrittenBy(ctx.db, uuid, requestId);
  });
}

/**
 * One line of an import, `{uuid, plan, region?, name?, app?, suspended?}`, as of an export; further members are ignored. The plan is the bare name or, as
 * the platform's API writes it, `service:plan`. It must be on offer: the vendor's functions are called with it later.
 */
export function readInstallation(
  text: string,
  offer: Offer,
): Installation | { uuid: string | null; reason: Reason } {
  const members = text.includes("\ufffd") ? undefined : parsedJson(text);
  const {
    uuid: typed,
    plan: named,
    region = null,
    name = null,
    ...more
  } = isJsonObject(members) ? members : {};
  const uuid = readUuid(typeof typed === "string" ? typed.trim() : null);
  if (!uuid) return { uuid, reason: "no_uuid" };
  if (RESOURCE_STATES.some((state) => state !== "provisioned" && state === more["state"]))
    return { uuid, reason: "not_provisioned" };
  const plan = String(named).replace(/^[^:]*:/, "");
  if (!Object.hasOwn(offer.plans, plan)) return { uuid, reason: "unknown_plan" };
  if (!isKeepable(region) || !isKeepable(name)) return { uuid, reason: "bad_text" };
  const suspended = suspendedIn(more["suspended"]);
  if (suspended === "unreadable") return { uuid, reason: "bad_text" };
  return { uuid, plan, region, name, app: appIn(more["app"]), suspended };
}

/** What cannot be read is no resource that works: its line is not usable. */
function suspendedIn(value: unknown): Suspended | null | "unreadable" {
  if (value === undefined || value === null) return null;
  const { since, reason: given } = isJsonObject(value) ? value : {};
  const [at, reason] = [new Date(String(since)), readReason(given)];
  return reason === null || Number.isNaN(at.getTime()) ? "unreadable" : { since: at, reason };
}

/** Null if it is none that can be stored: the platform is asked for it when there are tokens. */
function appIn(value: unknown): Named | null {
  const { id, name } = isJsonObject(value) ? value : {};
  const uuid = readUuid(id);
  return uuid && typeof name === "string" && isKeepable(name) ? { id: uuid, name } : null;
}

/** Whether a member is absent, or a text that PostgreSQL can store unchanged. */
function isKeepable(value: unknown): value is string | null {
  return value === null || (typeof value === "string" && !value.includes("\0") && value.isWellFormed());
}
