import { Misconfigured } from "../errors.ts";
import { type Finished, finishedElsewhere, finishedIn } from "./migration-records.ts";
import { isUnchanged, namesIn, type Series, seriesIn, shown } from "./migrations.ts";
import { throwAsMisconfigured } from "./retry.ts";
import type { Queryable } from "./statement.ts";

// Compares the migrations of this build with those that a database has applied.

/** The differences between the migrations of this build and of a database. */
export interface Comparison {
  /** The migrations that the database lacks, in order. */
  pending: { of: Series; name: string }[];
  /** Applied migrations whose files have changed since. */
  edited: string[];
  /** Applied migrations that this build does not have. */
  missing: string[];
  /** Pending migrations before an applied one in the order of names. */
  late: string[];
}

export async function compareMigrations(
  database: Queryable,
  all: readonly Series[] = seriesIn(),
): Promise<Comparison> {
  const found: Comparison = { pending: [], edited: [], missing: [], late: [] };
  for (const of of all) {
    const names = await namesIn(of);
    const finished = await (names.length > 0 ? finishedIn : finishedElsewhere)(database, of);
    const pending = lackedOf(names, finished);
    found.pending.push(...pending.map((name) => ({ of, name })));
    const last =
      finished
        .map(({ name }) => name)
        .filter((name) => names.includes(name))
        .sort()
        .at(-1) ?? "";
    // Only your service's series: a release of the kit may add migrations with earlier names.
    if (of.schema === "yours")
      found.late.push(...pending.filter((name) => name < last).map((name) => shown(of, name)));
    for (const { name, checksum } of finished) {
      if (!names.includes(name)) found.missing.push(shown(of, name));
      else if (!(await isUnchanged(of, name, checksum))) found.edited.push(shown(of, name));
    }
  }
  return found;
}

const lackedOf = (names: readonly string[], finished: readonly Finished[]) =>
  names.filter((name) => !finished.some((each) => each.name === name));

export const HOW_TO_MIGRATE = "Run: npm run --silent kit -- migrate";

/** The sentence that names the pending migrations. */
export function lacks(pending: Comparison["pending"]): string {
  const groups = seriesIn().flatMap(({ whose, schema }) => {
    const names = pending.filter(({ of }) => of.schema === schema).map(({ of, name }) => shown(of, name));
    const counted = `${names.length} migration${names.length === 1 ? "" : "s"}`;
    return names.length === 0 ? [] : [`${counted} of ${whose} (${someOf(names)})`];
  });
  return `The database lacks ${groups.join(", and ")}.`;
}

const MOST_NAMED = 5;
function someOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return [...names.slice(0, MOST_NAMED), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

/** The remarks of `kit migrate` and `kit doctor` about edited, missing and late migrations. */
export function remarksOn({ edited, missing, late }: Comparison): string[] {
  const remarks: [names: string[], what: string, then: string][] = [
    [
      edited,
      "Edited after they were applied",
      "The database has the earlier text: restore the files, and put changes into new migrations.",
    ],
    [
      missing,
      "Applied to this database, but not in this build",
      "A later build applied them, or their folders were deleted.",
    ],
    [
      late,
      "Applied now, after migrations with later names",
      "A new database gets them in the order of their names.",
    ],
  ];
  return remarks.flatMap(([names, what, then]) =>
    names.length > 0 ? [`${what}: ${someOf(names)}. ${then}`] : [],
  );
}

/** Throws Misconfigured, with the names, if the database lacks migrations of this build. */
export async function checkMigrations(database: Queryable): Promise<void> {
  const all = seriesIn().map(async (of) => {
    const names = await namesIn(of);
    const finished = names.length > 0 ? await finishedIn(database, of) : [];
    return lackedOf(names, finished).map((name) => ({ of, name }));
  });
  const pending = (await Promise.all(all).catch(throwAsMisconfigured)).flat();
  if (pending.length > 0) throw new Misconfigured(`${lacks(pending)} ${HOW_TO_MIGRATE}`);
}
