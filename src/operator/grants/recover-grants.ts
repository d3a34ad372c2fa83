import { statement, type Queryable } from "../../database/database.ts";
import { errorIdOf, messageOf } from "../../errors.ts";
import type { Context } from "../../context.ts";
import { recoverGrant } from "../../credentials/grant.ts";
import { IS_RECOVERABLE } from "../../credentials/queue.ts";
import { FIRST_UUID } from "../../uuid.ts";
import { failedUnknown, typedUuid } from "../errors.ts";
import type { OnProgress } from "../progress.ts";
import { rowsByUuid } from "../rows-by-uuid.ts";
import type { TokenReport } from "../tokens.ts";
import { workThrough } from "../work-through.ts";
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

interface Found {
  uuid: string;
  /** The credential's state, or the resource's where that says more. */
  state: string;
  isRecoverable: boolean;
  /** An earlier command stored its grant but ended before the exchange. */
  isOnItsWay: boolean;
}

const PAGE_SIZE = 500;
const COUNTED_AT_ONCE = 5_000;
const IS_ON_ITS_WAY = `(c.state = 'grant_pending' AND c.due_at IS NOT NULL
  AND EXISTS (SELECT 1 FROM events e WHERE e.uuid = c.uuid AND e.type = 'grant_recovered'))`;
const FOUND = `SELECT c.uuid, ${IS_RECOVERABLE} AS "isRecoverable", ${IS_ON_ITS_WAY} AS "isOnItsWay",
     CASE WHEN r.state = 'provisioned' THEN c.state ELSE r.state END AS state
   FROM credentials c JOIN resources r USING (uuid)`;

const named = statement("find_named_grants", `${FOUND} WHERE c.uuid = ANY($1::uuid[])`);
// Each state is read by its own index, in the order of uuids: among millions of rows the candidates may be few, or
// nearly all. `needs_reauth` is left out: its grant was exchanged, and the platform gives no other for it. It can only
// be recovered by name.
const nextOf = (from: string) => `(SELECT uuid FROM ${from} AND uuid > $1 ORDER BY uuid LIMIT $2::int)`;
const PENDING = `(SELECT uuid FROM credentials WHERE state = 'grant_pending' AND due_at IS NOT NULL OFFSET 0) pending WHERE true`;
const page = statement(
  "find_recoverable_grants",
  `WITH candidates AS MATERIALIZED (
     SELECT uuid FROM (${["credentials WHERE state = 'grant_lost'", "credentials WHERE state = 'no_grant'", PENDING].map(nextOf).join(" UNION ALL ")}) next
     ORDER BY uuid LIMIT $2::int
   )
   ${FOUND} JOIN candidates USING (uuid) ORDER BY c.uuid`,
);

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
  const rows = await needs.db.query<Found>(named, [uuids]);
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
  return recoverEach(needs, allRecoverable(needs.db, PAGE_SIZE), total);
}

async function* allRecoverable(db: Queryable, size: number): AsyncGenerator<Found> {
  for await (const row of rowsByUuid((after) => db.query<Found>(page, [after ?? FIRST_UUID, size])))
    if (row.isRecoverable || row.isOnItsWay) yield row;
}

async function recoverEach(
  needs: Needs,
  rows: Iterable<Found> | AsyncIterable<Found>,
  total: number,
): Promise<Recovered> {
  const { concurrency, signal, onProgress } = needs;
  const report: TokenReport = { done: [], failed: [], skipped: [] };
  const asking = createAsking((uuid) => recoverGrant(needs, uuid), signal);
  let isSecretRejected = false;
  const isHalted = () => isSecretRejected || asking.isHalted();

  async function handle({ uuid, state, isRecoverable, isOnItsWay }: Found): Promise<void> {
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

  const alone = (row: Found) =>
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
