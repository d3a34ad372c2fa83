import { setTimeout as sleep } from "node:timers/promises";
import { type Database } from "../database/database.ts";
import { isDatabaseUnreachable } from "../database/retry.ts";
import { UsedWrongly } from "./errors.ts";
import {
  type EventRow,
  fewOf,
  firstMark,
  type Kind,
  newest,
  OF_ALL,
  ofSome,
  type Source,
} from "./events-store.ts";

/** What happens to resources, by what an operator looks for. */
export const EVENT_TYPES = {
  asked: [
    "provision_requested",
    "provision_repeated",
    "plan_change_asked",
    "plan_change_queued",
    "plan_unchanged",
    "grant_replaced",
    "rotation_asked",
    "suspension_asked",
    "resume_asked",
    "customer_action",
    "step_retried",
    "step_cut_off",
  ],
  answered: ["config_ready", "provisioned", "rotation_announced"],
  exchanged: ["tokens_issued", "grant_recovered", "grant_pending", "active", "reopened"],
  refreshed: ["tokens_refreshed"],
  changed: [
    "plan_changed",
    "config_changed",
    "apps_found",
    "apps_changed",
    "rotated",
    "retired",
    "suspended",
    "suspend_reason_changed",
    "resumed",
    "imported",
    "back_at_platform",
  ],
  failed: [
    "failed",
    "provision_failed",
    "provision_refused",
    "provision_lost",
    "plan_change_refused",
    "rotation_refused",
    "suspension_refused",
    "resume_refused",
    "grant_lost",
    "no_grant",
    "needs_reauth",
    "quarantined",
    "gone_at_platform",
    "step_given_up",
  ],
  ended: ["deprovisioned", "deprovisioned_before_provision", "erased", "orphan_taken_down"],
} as const;

export type EventGroup = keyof typeof EVENT_TYPES;
export const EVENT_GROUPS = Object.keys(EVENT_TYPES) as EventGroup[];

const typesOf = (group: EventGroup): readonly string[] => EVENT_TYPES[group];
export const groupOf = (type: string) => EVENT_GROUPS.find((group) => typesOf(group).includes(type));

/** Which events an operator wants. */
export interface Wish {
  /** A type, or a group of types. */
  type?: string | undefined;
  plan?: string | undefined;
  /** The app's name or id. */
  app?: string | undefined;
}

export type StreamEvent = ReturnType<typeof eventOf>;

function eventOf({ at, uuid, name, plan, appId, appName, type, detail }: EventRow) {
  const app = appId === null ? null : { id: appId, name: appName ?? appId };
  return { at: at.toISOString(), uuid, name, plan, app, type, detail };
}

/** Throws {@link UsedWrongly}. */
function kindOf({ type, ...wish }: Wish): Kind {
  const { plan = null, app = null } = wish;
  if (type === undefined) return { types: null, plan, app };
  const group = EVENT_GROUPS.find((each) => each === type);
  if (group) return { types: typesOf(group), plan, app };
  if (groupOf(type)) return { types: [type], plan, app };
  const known = EVENT_GROUPS.map((each) => `${each} (${typesOf(each).join(", ")})`).join("; ");
  throw new UsedWrongly(`There is no type "${type}". Types: ${known}.`);
}

const isOf = ({ types: ofSource }: Pick<Source, "types">, { types }: Kind) =>
  types === null || !ofSource || ofSource.some((type) => types.includes(type));

/** Where each source was read to, by its name; it stands in an address, as `e120.r0f…`. */
type Places = Readonly<Record<string, string>>;

const PLACE = /^(?:([elh])(\d{1,15})|([rft])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}))$/;

function placesIn(after: string): Places {
  const places: Record<string, string> = {};
  for (const part of after.split(".")) {
    const [, byNumber, number, byUuid, uuid] = PLACE.exec(part) ?? [];
    const letter = byNumber ?? byUuid;
    if (letter === undefined)
      throw new UsedWrongly(`"${after}" is not a place among the events: use the "next" of a page.`);
    places[letter] = (number ?? uuid)!;
  }
  return places;
}

const inOne = (places: Places) =>
  Object.entries(places)
    .map(([name, place]) => name + place)
    .join(".");

/** How long the statements of one page may take, each. */
const LONGEST_MS = 5_000;
/** A page that has found too little after so many looks is shown as it is. */
const MOST_LOOKS = 5;

/** A page of the events, the newest first. `after`: the `next` of the one before. Throws {@link UsedWrongly}. */
export async function listEvents(db: Database, wish: Wish & { after?: string | undefined }, size: number) {
  const kind = kindOf(wish);
  const places = wish.after === undefined ? {} : placesIn(wish.after);
  return db.planned(async (tx) => {
    const uuids = await fewOf(tx, kind);
    return pageOf(tx, uuids === null ? OF_ALL : ofSome(uuids), kind, places, size);
  }, LONGEST_MS);
}

/** What happened to one resource, the oldest first; if it is more than `most`, the last ones. */
export async function storyOf(db: Database, uuid: string, most: number): Promise<StreamEvent[]> {
  const kind = { types: null, plan: null, app: null };
  const { events } = await db.planned((tx) => pageOf(tx, ofSome([uuid]), kind, {}, most), LONGEST_MS);
  return events.reverse();
}

async function pageOf(
  tx: Parameters<Source["before"]>[0],
  sources: Readonly<Record<string, Source>>,
  kind: Kind,
  after: Places,
  size: number,
) {
  const events: StreamEvent[] = [];
  let places = after;
  for (let look = 1; look <= MOST_LOOKS; look += 1) {
    const read = new Map<string, EventRow[]>();
    for (const [name, source] of Object.entries(sources))
      if (isOf(source, kind))
        read.set(name, await source.before(tx, kind, { before: places[name] ?? null, limit: size + 1 }));
    const merged = merge(read, size, size - events.length);
    places = { ...places, ...merged.places };
    events.push(...merged.events);
    if (merged.isEnd) return { events, next: null };
    if (events.length === size) break;
  }
  return { events, next: inOne(places) };
}

/** The newest of all sources, until one is to be read on. */
function merge(read: ReadonlyMap<string, EventRow[]>, size: number, wanted: number) {
  const events: StreamEvent[] = [];
  const places: Record<string, string> = {};
  const taken = new Map([...read.keys()].map((name) => [name, 0]));
  const headOf = (name: string) => read.get(name)![taken.get(name)!];
  for (;;) {
    const [newest] = [...read.keys()]
      .filter((name) => headOf(name))
      .sort((one, other) => headOf(other)!.at.getTime() - headOf(one)!.at.getTime());
    if (newest === undefined) return { events, places, isEnd: true };
    if (events.length === wanted) return { events, places, isEnd: false };
    const row = headOf(newest)!;
    places[newest] = row.place;
    taken.set(newest, taken.get(newest)! + 1);
    if (row.isShown) events.push(eventOf(row));
    const isReadOn = read.get(newest)!.length > size || (!row.isShown && row.type === "");
    if (!headOf(newest) && isReadOn) return { events, places, isEnd: false };
  }
}

/** What a follower is told besides events. */
export interface Following extends Wish {
  signal: AbortSignal;
  /** How long it waits before it looks again. */
  everyMs: number;
  /** How many of the past come first. */
  past: number;
  /** The database does not answer; and it does again. */
  onTrouble(error: unknown): void;
  onRecovered(): void;
}

/** The last events, the oldest first, and then each new one, until `signal` is aborted. Throws {@link UsedWrongly}. */
export async function* followEvents(db: Database, following: Following): AsyncGenerator<StreamEvent> {
  const { signal, everyMs, past, onTrouble, onRecovered } = following;
  const kind = kindOf(following);
  const isWanted = (source: Source) => isOf(source, kind);
  let { rows: seen, mark } = await newest(db, kind, await firstMark(db), isWanted);
  // What was stored since is among these, and found again.
  const { events } = await listEvents(db, following, past);
  const shown = new Set(events.map(likeness));
  yield* events.reverse();
  let isInTrouble = false;
  for (;;) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const found = await newest(db, kind, mark, isWanted);
      const fresh = [...found.rows].filter(([place, { isShown }]) => isShown && !seen.has(place));
      const unseen = fresh.map(([, row]) => eventOf(row)).filter((event) => !shown.has(likeness(event)));
      ({ rows: seen, mark } = found);
      if (isInTrouble) onRecovered();
      isInTrouble = false;
      yield* unseen;
    } catch (error) {
      if (!isDatabaseUnreachable(error)) throw error;
      if (!isInTrouble) onTrouble(error);
      isInTrouble = true;
    }
  }
}

const likeness = ({ at, uuid, type }: StreamEvent) => `${at} ${uuid} ${type}`;
