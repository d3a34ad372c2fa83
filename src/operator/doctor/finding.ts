import { type Queryable } from "../../database/statement.ts";
import { type Named, nameResources } from "../business-store.ts";
import { type Fact, URGENCIES, type Urgency, urgencyOf } from "../facts/fact.ts";
import { type FactId, factOf, FACTS, type ValuesOf } from "../facts/facts.ts";
import { MOST_COUNTED } from "../wording.ts";

/** Something that was found. One that is `ok` and has a `fix` is a warning. */
export interface Finding extends About {
  /** False: it is urgent, a fault. */
  ok: boolean;
  message: string;
  /** What to do, as a sentence; null if there is nothing to do. */
  fix: string | null;
  /** The row of the table of facts that it comes from; absent if all is well. */
  fact?: FactId;
  /** What was found too and may be its cause: that one is to be dealt with first. */
  because?: FactId;
  urgency?: Urgency;
  title?: string;
  /** The heading of its paragraph in docs/operate.md. */
  runbook?: string;
}

/** Whom it is about, and since when. */
interface About {
  whom?: Whom;
  /** ISO 8601; absent if it is not known. */
  since?: string;
}

/** How the list of resources is filtered: by its address, and by the options of `kit resources list`. */
export type ListQuery = Readonly<Partial<Record<"state" | "failing" | "error" | "plan" | "app", string>>>;

export const MOST_NAMED = 5;

/** The resources that a fact is about. */
export interface Whom {
  count: number;
  /** At most {@link MOST_NAMED} of them. */
  uuids: readonly string[];
  /** The same, by name. */
  some?: Named[];
  /** The list that has exactly these resources. */
  list?: ListQuery;
}

/** How urgent the most urgent of it is; `unknown`: the check could not be made. */
export type Level = Urgency | "fine" | "unknown";

export interface Check extends Finding {
  id: string;
  /** What was found if it is more than one: `message` and `fix` have it line by line. */
  found?: Finding[];
  /** False if the check could not be made; it is then neither `ok` nor a fault. */
  isChecked?: boolean;
}

export function levelOf({ isChecked = true, found, urgency }: Omit<Check, "id">): Level {
  if (!isChecked) return "unknown";
  const all = found ? found.map((each) => each.urgency) : [urgency];
  return URGENCIES.find((each) => all.includes(each)) ?? "fine";
}

export const fine = (message: string): Finding => ({ ok: true, message, fix: null });

/** A fact of the table with what was found of it. */
export function found<Id extends FactId>(id: Id, values: ValuesOf<Id>, about: About = {}): Finding {
  const fact = FACTS[id] as unknown as Fact<ValuesOf<Id>>;
  const urgency = urgencyOf(fact, values);
  return {
    ok: urgency !== "urgent",
    message: fact.says(values),
    fix: typeof fact.cure === "string" ? fact.cure : fact.cure(values),
    fact: id,
    urgency,
    title: fact.title,
    runbook: fact.runbook,
    ...about,
  };
}

/** The time so many seconds ago, ISO 8601. */
export const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString();

export const orFine = (found: Finding[], sentence: string): Finding[] =>
  found.length > 0 ? found : [fine(sentence)];

export function joined(found: readonly Finding[]): Omit<Check, "id"> {
  const [only] = found;
  if (only && found.length === 1) return only;
  return {
    ok: found.every(({ ok }) => ok),
    message: found.map(({ message }) => message).join("\n"),
    fix: [...new Set(found.flatMap(({ fix }) => fix ?? []))].join("\n") || null,
    found: [...found],
  };
}

/** The facts of the table that may cause this one. */
const causesOf = ({ fact }: Finding): readonly string[] => (fact && factOf(fact).causes) ?? [];

export const hasCauses = (finding: Finding): boolean => causesOf(finding).length > 0;

/**
 * The findings with what may cause them, as far as that was found too. What is caused needs no cure of its own, and its
 * cause is as urgent.
 */
export function withCauses(all: readonly Finding[]): Finding[] {
  const facts = new Map(all.flatMap(({ fact, title }) => (fact ? [[fact as string, { fact, title }]] : [])));
  const because = new Map(
    all.flatMap((each) => {
      const cause = causesOf(each).find((id) => facts.has(id));
      return cause === undefined ? [] : [[each, facts.get(cause)!] as const];
    }),
  );
  /** The most urgent of a fact and of all that it causes. */
  const urgencyWith = ({ fact, urgency }: Finding): Urgency | undefined => {
    const caused = [...because].flatMap(([of, cause]) => (cause.fact === fact ? [urgencyWith(of)] : []));
    return URGENCIES.find((each) => each === urgency || caused.includes(each));
  };
  return all.map((each) => {
    const cause = because.get(each);
    const fix = cause ? `First deal with “${cause.title}”, which may cause it.` : each.fix;
    const urgency = urgencyWith(each);
    if (!urgency) return each;
    return { ...each, fix, urgency, ok: urgency !== "urgent", ...(cause && { because: cause.fact }) };
  });
}

/** The findings with the names of their resources, which one statement reads. */
export async function withNames(db: Queryable, all: readonly Finding[]): Promise<Finding[]> {
  const uuids = new Set(all.flatMap(({ whom }) => whom?.uuids ?? []));
  const named = new Map((await nameResources(db, [...uuids])).map((each) => [each.uuid, each]));
  return all.map((each) =>
    each.whom
      ? { ...each, whom: { ...each.whom, some: each.whom.uuids.flatMap((uuid) => named.get(uuid) ?? []) } }
      : each,
  );
}

/** "--failing provision --plan basic". */
export const listOptions = (list: ListQuery): string =>
  Object.entries(list)
    .map(
      ([name, value]) =>
        `--${name} ${/^[\w.:-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`}`,
    )
    .join(" ");

/** One line for each resource that is named, and one for the others. */
export function whomInWords({ count, some = [], list }: Whom): string[] {
  const more = count - some.length;
  const all = list ? `kit resources list ${listOptions(list)}` : null;
  const others = more > 0 ? `and ${more}${count >= MOST_COUNTED ? " or more" : ""} more` : null;
  return [...some.map(nameInWords), ...(others || all ? [[others, all].filter(Boolean).join(": ")] : [])];
}

/** "teapots-quiet-31 (basic, app amber-7) 0b9f…". */
export function nameInWords({ uuid, name, plan, app }: Named): string {
  const about = [plan, app && `app ${app}`].filter(Boolean).join(", ");
  return [name, about && `(${about})`, uuid].filter(Boolean).join(" ");
}
