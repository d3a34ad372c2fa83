import type { Database } from "../database/database.ts";
import { PACE } from "../pace.ts";
import { UsedWrongly } from "./errors.ts";
import { countOpenLost, lostSalesBefore, type LostState, tickOffLost } from "./lost-store.ts";
import { counted, moment } from "./wording.ts";

// The sales that were lost, whichever process refused them, and what became of them since.

export type LostRecord = Awaited<ReturnType<typeof listLost>>["lost"][number];

const PAGE = 200;

/** The newest first. `next`, passed as `before`, gives the following page; null: there is none. */
export async function listLost(db: Database, before: number | null = null, onlyOpen = false) {
  const found = await lostSalesBefore(db, { before, onlyOpen, most: PAGE + 1 });
  const lost = found.slice(0, PAGE).map(({ id, uuid, plan, name, region, app, at, doneAt, ...sale }) => ({
    id,
    uuid,
    plan,
    name,
    region,
    app,
    at: at.toISOString(),
    requestId: sale.requestId,
    reason: sale.reason,
    state: sale.state,
    /** When what was made here is taken down, at the earliest; null: it is not, or an operator has to decide. */
    endsAt: sale.quietSince && new Date(sale.quietSince.getTime() + PACE.refusedStaysMs).toISOString(),
    done: doneAt !== null,
    doneAt: doneAt?.toISOString() ?? null,
    doneBy: sale.doneBy,
  }));
  return { lost, open: await countOpenLost(db), next: found.length > PAGE ? lost.at(-1)!.id : null };
}

/** Ticks these off; those that are ticked off already stay as they are. Returns how many it ticked off. */
export { tickOffLost as tickOff };

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
  taken_down: "made here, taken down since",
  installed: "installed since",
};

/** What became of one since. */
export const becameOf = ({ state, endsAt }: Pick<LostRecord, "state" | "endsAt">): string =>
  endsAt === null ? STATES_OF_LOST[state] : `${STATES_OF_LOST[state]}; ends ${moment(endsAt)} (UTC)`;

/** What came of the open ones, for a person who has to write to these customers. */
export const TO_DO =
  "Write to these customers, or give the uuids to the platform's support: the add-on has to be installed again.";
const ENDS =
  "What was made here and refused there serves no customer. At the time that is shown it is taken down, unless the platform repeats the provision, gives tokens for it or asks for another plan.";
const STAYS =
  "What was made here and refused there, and has no such time, stays until an operator decides: ask the platform whether it has that add-on, and if not, kit resources erase UUID takes it down.";

/** What happens to those that were made here, and what an operator has to do. */
export function madeHere(lost: readonly LostRecord[]): string[] {
  const made = lost.filter(({ state, done }) => state === "made_here" && !done);
  return [
    ...(made.some(({ endsAt }) => endsAt !== null) ? [ENDS] : []),
    ...(made.some(({ endsAt }) => endsAt === null) ? [STAYS] : []),
  ];
}

/** In one sentence: how many, until when, and why; null: none is open. */
export async function lostInShort(db: Database): Promise<{ words: string; since: string } | null> {
  const { lost, open } = await listLost(db, null, true);
  if (open === 0) return null;
  const since = lost.at(-1)!.at;
  const last = lost[0]!.at;
  const until = moment(since) === moment(last) ? "" : `, the last at ${moment(last)} (UTC)`;
  const reasons = [...new Set(lost.map(({ reason }) => reason))].slice(0, 3).join("; ");
  const names = lost
    .slice(0, 5)
    .map(({ name, plan, uuid }) => `${name ?? uuid} (${plan})`)
    .join(", ");
  const words = `${counted(open, "sale")} lost${until}: provisions were refused (${reasons}). Add-ons: ${names}${open > 5 ? " …" : "."}`;
  return { words, since };
}
