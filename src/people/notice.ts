import type { Notice } from "../database/client/client.ts";
import { columnsOf, oneRow, type Queryable, type RowOf, statement } from "../database/statement.ts";

export const SEVERITIES = ["info", "warning", "outage"] as const;
export type Severity = (typeof SEVERITIES)[number];

const NOTICE = columnsOf<Notice>()("n", "text", "severity", "until", "setBy", "setAt");
export type CurrentNotice = Omit<RowOf<typeof NOTICE>, "severity"> & { severity: Severity };

// In SQL, because a process that only customers visit need not load Prisma (docs/scale.md).
const find = statement<Record<never, never>, CurrentNotice>("find_notice").sql(
  `SELECT ${NOTICE} FROM notices n WHERE n.until IS NULL OR n.until > now()`,
);

/** The notice that customers see; null: none was set, or it has ended. */
export const currentNotice = (db: Queryable): Promise<CurrentNotice | null> => oneRow(db, find);
