import type { Database } from "../database/database.ts";
import { UsedWrongly } from "./errors.ts";
import { counted, moment } from "./wording.ts";

// The sales that were lost, whichever process refused them, and what became of them since.

/**
 * `lost`: there is nothing of it here. `made_here`: its resource was stored although the platform was refused, so that
 * nobody uses it. `installed`: a later request for the same uuid has succeeded.
 */
export type LostState = "lost" | "made_here" | "installed";

export type LostRecord = Awaited<ReturnType<typeof listLost>>["lost"][number];

const PAGE = 200;

/** Its tokens prove that the platform has it. */
const INSTALLED = {
  state: { in: ["provisioning", "provisioned"] },
  credential: { state: { in: ["active", "needs_reauth"] } },
};
const IS_OPEN = { doneAt: null, NOT: { resource: INSTALLED } };

/** The newest first. `next`, passed as `after`, gives the following page; null: there is none. */
export async function listLost(db: Database, after: number | null = null, onlyOpen = false) {
  const { lostSale } = await db.prisma();
  const found = await lostSale.findMany({
    where: { ...(after !== null && { id: { lt: after } }), ...(onlyOpen && IS_OPEN) },
    include: { resource: { include: { credential: true } } },
    orderBy: { id: "desc" },
    take: PAGE + 1,
  });
  const lost = found.slice(0, PAGE).map(({ resource, ...sale }) => ({
    id: Number(sale.id),
    uuid: sale.uuid,
    plan: sale.plan,
    name: sale.name,
    region: sale.region,
    /** As far as its resource knows one. */
    app: resource?.appName ?? null,
    at: sale.at.toISOString(),
    requestId: sale.requestId,
    reason: sale.reason,
    state: stateOf(resource),
    done: sale.doneAt !== null,
    doneAt: sale.doneAt?.toISOString() ?? null,
    doneBy: sale.doneBy,
  }));
  return {
    lost,
    open: await lostSale.count({ where: IS_OPEN }),
    next: found.length > PAGE ? lost.at(-1)!.id : null,
  };
}

function stateOf(resource: { state: string; credential: { state: string } | null } | null): LostState {
  if (!resource || !INSTALLED.state.in.includes(resource.state)) return "lost";
  return INSTALLED.credential.state.in.includes(resource.credential?.state ?? "") ? "installed" : "made_here";
}

/** Ticks these off; those that are ticked off already stay as they are. Returns how many it ticked off. */
export async function tickOff(db: Database, ids: readonly number[], by: string): Promise<number> {
  const { lostSale } = await db.prisma();
  const data = { doneAt: new Date(), doneBy: by };
  return (await lostSale.updateMany({ where: { id: { in: [...ids] }, doneAt: null }, data })).count;
}

/** "3", or "3-17". Throws {@link UsedWrongly}. */
export function typedIds(typed: readonly string[]): number[] {
  return typed.flatMap((word) => {
    const [, from, to = from] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(word) ?? [];
    const count = Number(to) - Number(from) + 1;
    if (from === undefined || !(count >= 1 && count <= 10_000))
      throw new UsedWrongly(
        `"${word}" names no lost sale: give the numbers that kit lost shows, such as 3 or 3-17.`,
      );
    return Array.from({ length: count }, (_, index) => Number(from) + index);
  });
}

export const STATES_OF_LOST: Readonly<Record<LostState, string>> = {
  lost: "not installed",
  made_here: "made here, refused there",
  installed: "installed since",
};

/** What came of the open ones, for a person who has to write to these customers. */
export const TO_DO =
  "Write to these customers, or give the uuids to the platform's support: the add-on has to be installed again.";
export const MADE_HERE =
  "What was made here and refused there serves no customer: kit resources erase UUID takes it down, unless the platform has that add-on.";

/** In one sentence: how many, since when, and why; null: none is open. */
export async function lostInShort(db: Database): Promise<{ words: string; since: string } | null> {
  const { lost, open } = await listLost(db, null, true);
  if (open === 0) return null;
  const since = lost.at(-1)!.at;
  const [first, last] = [since, lost[0]!.at].map(moment);
  const when = first === last ? `at ${first}` : `from ${first} to ${last}`;
  const reasons = [...new Set(lost.map(({ reason }) => reason))].slice(0, 3).join("; ");
  const names = lost
    .slice(0, 5)
    .map(({ name, plan, uuid }) => `${name ?? uuid} (${plan})`)
    .join(", ");
  const words = `${counted(open, "sale")} lost ${when} UTC: provisions were refused (${reasons}). Add-ons: ${names}${open > 5 ? " …" : "."}`;
  return { words, since };
}
