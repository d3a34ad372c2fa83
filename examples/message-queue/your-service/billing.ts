import type { PlanOf } from "../resources/contract.ts";
import type { OurKit } from "./metrics.ts";
import type { offer } from "./plans.ts";

/** Cents for each thousand messages. The price of the plan itself is billed by the platform. */
const CENTS: Readonly<Record<PlanOf<typeof offer>, number>> = { loft: 0, tower: 1 };

const DAY_MS = 86_400_000;
/** For so long the meter reads a day again. */
const DAYS_TO_SETTLE = 3;

/** What a queue owes for a month in one plan. */
interface Line {
  uuid: string;
  plan: PlanOf<typeof offer>;
  messages: number;
  cents: number;
}

/** What all queues owe for a month (YYYY-MM, UTC), also those that have ended. Once `isFinal`, it is the same each time. */
export async function billOf(kit: OurKit, month: string) {
  const begin = `${month}-01`;
  const rows = await kit.database.query<Omit<Line, "cents">>(
    `SELECT uuid, plan, sum(messages)::float8 AS messages FROM yours.usage
     WHERE day >= $1::date AND day < $1::date + interval '1 month' AND plan IS NOT NULL
     GROUP BY uuid, plan ORDER BY uuid, plan`,
    [begin],
  );
  const lines = rows.map((row): Line => ({
    ...row,
    cents: Math.ceil(row.messages / 1_000) * CENTS[row.plan],
  }));
  const end = new Date(begin);
  end.setUTCMonth(end.getUTCMonth() + 1);
  const isOver = Date.now() >= end.getTime() + DAYS_TO_SETTLE * DAY_MS;
  const notMetered = await queuesNotMetered(kit, begin, end);
  return { month, isFinal: isOver && notMetered.length === 0, notMetered, lines };
}

/** The queues whose last day of the month is not stored: the broker did not answer. */
async function queuesNotMetered(kit: OurKit, begin: string, end: Date): Promise<string[]> {
  const rows = await kit.database.query<{ uuid: string }>(
    `SELECT uuid FROM yours.usage WHERE day = $1::date + interval '1 month' - interval '1 day'`,
    [begin],
  );
  const metered = new Set(rows.map(({ uuid }) => uuid));
  const missing: string[] = [];
  // What has ended is billed too: the kit finds it until its `deprovision` has metered its last day.
  for (const state of ["provisioned", "deprovisioning"] as const)
    for await (const { uuid, endedAt } of kit.resources.list({ state, createdBefore: end }))
      if (!metered.has(uuid) || (endedAt !== null && endedAt < end)) missing.push(uuid);
  return missing;
}
