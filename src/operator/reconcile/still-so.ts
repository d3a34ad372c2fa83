import type { Context } from "../../context.ts";
import type { Found } from "./differences.ts";
import { oursNamed, type OwnRow } from "./store.ts";

/** Without what has changed here since it was read: then the others may have been right. */
export async function stillSo({ db }: Pick<Context, "db">, found: Found[]): Promise<Found[]> {
  if (found.length === 0) return found;
  const rows = await oursNamed(db, [...new Set(found.map(({ uuid }) => uuid))]);
  return found.filter((each) => isStill(each, rows.get(each.uuid)));
}

function isStill({ kind, ours, isUnseen }: Found, row: OwnRow | undefined): boolean {
  if (isUnseen === true) return row === undefined;
  if (!row) return false;
  if (kind === "plan_differs") return row.plan === ours && !row.isUnderWay;
  if (kind === "config_differs" || kind === "app_differs")
    return !row.isUnderWay && row.state === "provisioned";
  if (kind === "missing_at_backend") return row.state === "provisioned" && !row.isUnderWay;
  if (kind === "orphan_at_backend") return row.state === ours && !row.isUnderWay;
  return row.state === ours || kind === "unknown_here" || kind === "tokens_refused";
}
