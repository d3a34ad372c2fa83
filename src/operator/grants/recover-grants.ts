import type { Queryable } from "../../database/database.ts";
import { errorIdOf, messageOf } from "../../errors.ts";
import type { Context } from "../../context.ts";
import { recoverGrant } from "../../credentials/grant.ts";
import { failedUnknown, typedUuid } from "../errors.ts";
import { type OnProgress, rowsByUuid, workThrough } from "../work-through.ts";
import { grantsAfter, grantsNamed, type FoundGrant } from "../store.ts";
import type { TokenReport } from "../tokens.ts";
import { createAsking } from "./asking.ts";
import { LegacyGrantsOff, SecretIsRejected } from "./errors.ts";
import { grantEnd } from "./watching.ts";

interface Needs extends Pick<
  Context,
  "db" | "vault" | "config" | "platformCalls" | "credentials" | "exchanges"
> {
  /** The setting LEGACY_GRANTS. */
  isOn: boolean;
  /**
   * How many resources at once. A grant lives five minutes, so each one is exchanged before its worker asks for the
   * next.
   */
  concurrency: number;
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

export interface Recovered {
  report: TokenReport;
  /** How many resources were not asked for because the work stopped; the same command continues with them. */
  left: number;
}

const COUNTED_AT_ONCE = 5_000;
/** Throws {@link LegacyGrantsOff} unless the setting LEGACY_GRANTS is on. */
export function refuseUnlessOn(isOn: boolean): void {
  if (!isOn) throw new LegacyGrantsOff();
}

/** Throws what would make every recovery fail, before any row is read for it. */
async function refuseIfPointless({ isOn, credentials }: Needs): Promise<void> {
  refuseUnlessOn(isOn);
  const { isRejected, isPresumed } = await credentials.secrets.current();
  if (isRejected && !isPresumed) throw new SecretIsRejected();
}

/**
 * Recovers the grants of the named resources and waits until they are exchanged. Throws `UsedWrongly` for a malformed
 * uuid, and an error if the endpoint as a whole does not work.
 */
export async function recoverGrants(needs: Needs, typed: readonly string[]): Promise<Recovered> {
  const uuids = [...new Set(typed.map(typedUuid))];
  await refuseIfPointless(needs);
  const rows = await grantsNamed(needs.db, uuids);
  const known = new Map(rows.map((row) => [row.uuid, row]));
  const found = uuids.flatMap((uuid) => known.get(uuid) ?? []);
  const recovered = await recoverEach(needs, found, found.length);
  for (const uuid of uuids.filter((each) => !known.has(each)))
    recovered.report.failed.push(failedUnknown(uuid));
  return recovered;
}

/** Recovers every grant that was lost or never came, page by page. */
export async function recoverAllGrants(needs: Needs): Promise<Recovered> {
  await refuseIfPointless(needs);
  let total = 0;
  for await (const _ of allRecoverable(needs.db, COUNTED_AT_ONCE)) total += 1;
  return recoverEach(needs, allRecoverable(needs.db), total);
}

async function* allRecoverable(db: Queryable, size?: number): AsyncGenerator<FoundGrant> {
  for await (const row of rowsByUuid((after) => grantsAfter(db, after, size)))
    if (row.isRecoverable || row.isOnItsWay) yield row;
}

async function recoverEach(
  needs: Needs,
  rows: Iterable<FoundGrant> | AsyncIterable<FoundGrant>,
  total: number,
): Promise<Recovered> {
  const { concurrency, signal, onProgress } = needs;
  const report: TokenReport = { done: [], failed: [], skipped: [] };
  const asking = createAsking((uuid) => recoverGrant(needs, uuid), signal);
  let isSecretRejected = false;
  const isHalted = () => isSecretRejected || asking.isHalted();

  async function handle({ uuid, state, isRecoverable, isOnItsWay }: FoundGrant): Promise<void> {
    if (!isRecoverable && !isOnItsWay) return void report.skipped.push({ uuid, reason: state });
    const why = isOnItsWay ? null : await asking.ask(uuid);
    if (why === "halted") return;
    if (why) return void report.failed.push({ uuid, ...why });
    const end = await grantEnd(needs, uuid);
    if (end.is === "exchanged") report.done.push(uuid);
    else if (end.is === "gone") report.skipped.push({ uuid, reason: "deprovisioned" });
    else report.failed.push({ uuid, id: end.id, message: end.message });
    isSecretRejected ||= end.is === "failed" && end.id === "client_secret_rejected";
  }

  const alone = (row: FoundGrant) =>
    handle(row).catch(
      (error: unknown) =>
        void report.failed.push({ uuid: row.uuid, id: errorIdOf(error), message: messageOf(error) }),
    );

  await workThrough(rows, alone, { concurrency, total, isHalted, onProgress });
  const wrong = asking.wrong();
  if (wrong) throw wrong;
  const { done, failed, skipped } = report;
  const told = done.length + failed.length + skipped.length;
  return { report, left: isHalted() ? Math.max(total - told, 0) : 0 };
}
