import { STATES_OF_RESOURCES } from "../credentials/states.ts";
import { type Database } from "../database/database.ts";
import { mayBeOfOneStatement } from "../database/retry.ts";
import { KitError } from "../errors.ts";
import { RESOURCE_STATES } from "../resources/states.ts";
import { STEP_KINDS, VENDOR_CALL_KINDS } from "../resources/step-kinds.ts";
import { readUuid } from "../values.ts";
import { UsedWrongly } from "./errors.ts";
import { listed, LONGEST_LIST_MS, MOST_IN_TOTAL, type Sort, SORT_NAMES, type Wanted } from "./list-store.ts";
import { GONE, recordsOf, type ResourceRecord } from "./resources.ts";
import { counted } from "./wording.ts";

export type ResourcePage = Awaited<ReturnType<typeof listResources>>;

/** What to list, as an operator names it. All that is given must be true of a resource. */
export interface Search {
  /** A part, in any case, of the uuid, the name, the app's name or id, or of the e-mail of who is signed on; or the plan or the region. */
  text?: string | undefined;
  /** Of the resource, of its credential, or `gone_at_platform`. */
  state?: string | undefined;
  /** What fails: a kind of step, `exchange`, `refresh`, or `any` of these; `hanging`: a call of a function that goes on. */
  failing?: string | undefined;
  /** A part, in any case, of the last error. */
  error?: string | undefined;
  plan?: string | undefined;
  /** The app's name or id. */
  app?: string | undefined;
  sort?: string | undefined;
  after?: string | undefined;
}

export const STATES: readonly string[] = [...RESOURCE_STATES, ...STATES_OF_RESOURCES, GONE];

const STEPS = Object.keys(STEP_KINDS);
/** The states of credentials in which a call to the token endpoint may have failed. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  exchange: ["grant_pending"],
  refresh: ["active", "needs_reauth"],
};
/** A call of a function of the vendor's that goes on. */
const HANGING = "hanging";
export const FAILING: readonly string[] = ["any", HANGING, ...Object.keys(CALLS), ...STEPS];

const oneOf = (what: string, known: readonly string[], given: string | undefined) => {
  if (given !== undefined && !known.includes(given))
    throw new UsedWrongly(`There is no ${what} "${given}". Known: ${known.join(", ")}.`);
};

/** Tombstones included. Throws {@link UsedWrongly}. */
export async function listResources(db: Database, { sort = "since", after, ...search }: Search, size = 100) {
  const { text = null, plan = null, app = null } = search;
  oneOf("state", STATES, search.state);
  oneOf("call", FAILING, search.failing);
  oneOf("order", SORT_NAMES, sort);
  const place = readUuid(after);
  if (after !== undefined && place === null)
    throw new UsedWrongly(`"${after}" is not a place in the list: use the "next" of a page.`);
  const page = { sort: sort as Sort, after: place, size: size + 1 };
  const wanted = { text, plan, app, ...stateOf(search), ...failingOf(search) };
  const { uuids: found, total } = await listed(db, wanted, page).catch(tooSlow);
  const uuids = found.slice(0, size);
  const resources = await recordsOf(db, uuids);
  const next = found.length > size ? uuids.at(-1)! : null;
  /** Of all pages. More than {@link MOST_IN_TOTAL} are not counted. */
  return { resources, total: Math.min(total, MOST_IN_TOTAL), isTotalExact: total <= MOST_IN_TOTAL, next };
}

function stateOf({ state }: Search): Pick<Wanted, "state" | "credential" | "isGone"> {
  const isOfBusiness = (RESOURCE_STATES as readonly unknown[]).includes(state);
  const isOfCredential = (STATES_OF_RESOURCES as readonly unknown[]).includes(state);
  return {
    state: isOfBusiness ? state! : null,
    credential: isOfCredential ? state! : null,
    isGone: state === GONE,
  };
}

/** An error alone is looked for in whatever failed, also in what was given up. */
function failingOf({ failing, ...search }: Search): Pick<Wanted, "failing" | "error"> {
  const { error = null } = search;
  if (failing === undefined)
    return {
      error,
      failing: error === null ? null : { kinds: STEPS, credentials: [...STATES_OF_RESOURCES] },
    };
  const isAny = failing === "any";
  if (failing === HANGING)
    return { error, failing: { kinds: VENDOR_CALL_KINDS, credentials: [], isHanging: true } };
  const kinds = STEPS.filter((kind) => isAny || kind === failing);
  const credentials = Object.keys(CALLS).flatMap((call) => (isAny || call === failing ? CALLS[call]! : []));
  return { error, failing: { kinds, credentials } };
}

function tooSlow(error: unknown): never {
  if (!mayBeOfOneStatement(error)) throw error;
  const words = `The list took longer than ${LONGEST_LIST_MS / 1_000} s: too many resources are to be read, or the database is busy.`;
  throw new KitError("list_too_slow", `${words} Name a state or a failing call too, or try again.`, {
    cause: error,
  });
}

/** "25 of 1204 resources". */
export function shownOf({ resources, total, isTotalExact }: ResourcePage): string {
  if (!isTotalExact) return `${resources.length} of more than ${counted(total, "resource")}`;
  return total === resources.length
    ? counted(total, "resource")
    : `${resources.length} of ${counted(total, "resource")}`;
}

/** More are not listed when a text is not unique. */
const MOST_CANDIDATES = 20;

export interface Candidates {
  candidates: ResourceRecord[];
  total: number;
}

/**
 * The resource that a text means: the only one whose uuid, name, app's name or app's id contains it, or else the only one
 * that has it as its name or its app's. Otherwise those that it may mean.
 */
export async function meantBy(db: Database, text: string): Promise<{ uuid: string } | Candidates> {
  const uuid = readUuid(text);
  if (uuid !== null) return { uuid };
  const { resources: candidates, total } = await listResources(db, { text }, MOST_CANDIDATES);
  const wanted = text.toLowerCase();
  const exact = candidates.filter(({ name, app }) =>
    [name, app?.name].some((each) => each?.toLowerCase() === wanted),
  );
  const [only] = candidates.length === 1 ? candidates : exact.length === 1 ? exact : [];
  return only ? { uuid: only.uuid } : { candidates, total };
}
