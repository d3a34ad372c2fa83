import { type Database } from "../database/database.ts";
import { oneRow, statement } from "../database/statement.ts";
import { whereCan } from "../resources/states.ts";
import { whereAnnouncing } from "../resources/step-kinds.ts";
import { HAS_FAILED } from "../work/queue.ts";

// What operators search the resources by. A search by a part reads all of them: an index for it (trigrams) would be updated
// by each provision, and needs an extension that the database may not allow. 100,000 take 60 ms.

/** What to list; `null`: whichever. */
export interface Wanted {
  /** The state of the resource, and that of its credential. */
  state: string | null;
  credential: string | null;
  /** Only those that the platform no longer has. */
  isGone: boolean;
  plan: string | null;
  /** The name of the app, or its id. */
  app: string | null;
  /** A part of the uuid, the name, the app's name or id, or the e-mail of who signed on; or the plan or the region. */
  text: string | null;
  /**
   * Only those of which the last call failed: in a step of these kinds, or for a credential in one of these states.
   * `isHanging`: those of which the call of such a step goes on for longer than {@link SLOW}.
   */
  failing: { kinds: readonly string[]; credentials: readonly string[]; isHanging?: boolean } | null;
  /** A part of what came of that call. */
  error: string | null;
}

/** The order, from the first row on; of equal ones, the newest first. */
const SORTS = {
  since: { keys: ["r.created_at"], order: "DESC" },
  // A resource without a name is after all others.
  name: { keys: ["coalesce(lower(r.name), '~')"], order: "ASC" },
  plan: { keys: ["r.plan", "-extract(epoch FROM r.created_at)"], order: "ASC" },
  state: {
    keys: [
      "array_position('{failed,provisioning,provisioned,deprovisioned}', r.state)",
      "-extract(epoch FROM r.created_at)",
    ],
    order: "ASC",
  },
} as const;

export type Sort = keyof typeof SORTS;
export const SORT_NAMES = Object.keys(SORTS) as Sort[];

/** A call of a function that goes on for longer than this hangs, or is slow. */
export const SLOW = "interval '10 seconds'";
/** SQL condition: the vendor's function is being called for the step aliased `s`, and its call hangs. */
const IS_HANGING =
  `s.leased_until > now() AND s.attempts > 0 AND NOT ${HAS_FAILED} AND NOT ${whereAnnouncing("s")}
         AND s.due_at < now() - ${SLOW}` as const;

/** More are not counted, nor looked for among what fails. */
export const MOST_IN_TOTAL = 100_000;
const MOST_FAILING = 10_000;

const contains = (text: string, part: string) => `strpos(lower(${text}), lower(${part})) > 0`;

/** SQL condition: the resource aliased `r` is on the app `:app`. */
export const IS_OF_APP = `(lower(r.app_name) = lower(:app) OR r.app_id::text = lower(:app))` as const;

type Values = Omit<Wanted, "failing"> & {
  isFailing: boolean;
  isHanging: boolean;
  kinds: readonly string[];
  credentials: readonly string[];
};

// Each is planned for its values, so a condition whose value is null costs nothing.
const WHERE = `(:state::text IS NULL OR r.state = :state) AND (:plan::text IS NULL OR r.plan = :plan)
     AND (:app::text IS NULL OR ${IS_OF_APP})
     AND (:text::text IS NULL OR :text IN (r.plan, r.region)
       OR ${contains(`concat_ws(E'\\n', r.uuid, r.name, r.app_name, r.app_id)`, ":text")}
       OR r.uuid IN (SELECT uuid FROM customer_sessions WHERE ${contains("email", ":text")} LIMIT ${MOST_FAILING}))
     AND (NOT :isGone::bool OR (${whereCan("change_plan")}
       AND r.uuid IN (SELECT uuid FROM ledger_marks WHERE kind = 'gone_at_platform' LIMIT ${MOST_FAILING})))
     AND (NOT :isFailing::bool OR r.uuid IN (
       (SELECT s.uuid FROM steps s WHERE :isHanging::bool AND ${IS_HANGING} AND kind = ANY(:kinds::text[]) LIMIT ${MOST_FAILING})
       UNION ALL (SELECT uuid FROM steps WHERE NOT :isHanging::bool AND last_error IS NOT NULL AND kind = ANY(:kinds::text[])
          AND (:error::text IS NULL OR ${contains("last_error", ":error")}) LIMIT ${MOST_FAILING})
       UNION ALL (SELECT uuid FROM credentials WHERE last_error IS NOT NULL AND state = ANY(:credentials::text[])
          AND (:error::text IS NULL OR ${contains("last_error", ":error")}) LIMIT ${MOST_FAILING})))` as const;

const FROM = {
  // Without a state of the credential to look for, `credentials` is not read.
  resources: `(SELECT * FROM resources WHERE :credential::text IS NULL) r`,
  credentials: `resources r JOIN credentials c ON c.uuid = r.uuid AND c.state = :credential`,
} as const;

type Page = { after: string | null; size: number };

function pageOf(from: keyof typeof FROM, sort: Sort) {
  const { keys, order } = SORTS[sort];
  const place = [...keys, "r.uuid"];
  const isBehind = order === "DESC" ? "<" : ">";
  return statement<Values & Page, { uuid: string }>(`list_${from}_by_${sort}`).sql(
    `SELECT r.uuid FROM ${FROM[from]} WHERE (:after::uuid IS NULL OR
       -- The place is read here, because a Date of JavaScript lacks its microseconds.
       (${place.join(", ")}) ${isBehind} (SELECT ${place.join(", ")} FROM resources r WHERE r.uuid = :after))
     AND ${WHERE} ORDER BY ${place.map((key) => `${key} ${order}`).join(", ")} LIMIT :size`,
  );
}

const statementsOf = (from: keyof typeof FROM) => ({
  since: pageOf(from, "since"),
  name: pageOf(from, "name"),
  plan: pageOf(from, "plan"),
  state: pageOf(from, "state"),
  total: statement<Values, { total: number }>(`count_${from}_listed`).sql(
    `SELECT count(*)::int AS total FROM (SELECT FROM ${FROM[from]} WHERE ${WHERE} LIMIT ${MOST_IN_TOTAL + 1}) few`,
  ),
});
const STATEMENTS = { resources: statementsOf("resources"), credentials: statementsOf("credentials") };

/** How long each of the two statements of a page may take. */
export const LONGEST_LIST_MS = 5_000;

/**
 * A page of the resources wanted, and how many there are in all (at most one more than {@link MOST_IN_TOTAL}). `after`: the
 * last one of the page before. Rejects after {@link LONGEST_LIST_MS}.
 */
export function listed(
  db: Database,
  { failing, ...wanted }: Wanted,
  { sort, ...page }: Page & { sort: Sort },
): Promise<{ uuids: string[]; total: number }> {
  const { kinds, credentials, isHanging = false } = failing ?? { kinds: [], credentials: [] };
  const values = { ...wanted, isFailing: failing !== null, isHanging, kinds, credentials };
  const { [sort]: inOrder, total } = STATEMENTS[wanted.credential === null ? "resources" : "credentials"];
  return db.planned(async (tx) => {
    const uuids = (await tx.query(inOrder, { ...values, ...page })).map(({ uuid }) => uuid);
    // A search that finds less than a page has read all.
    if (page.after === null && uuids.length < page.size) return { uuids, total: uuids.length };
    return { uuids, ...(await oneRow(tx, total, values))! };
  }, LONGEST_LIST_MS);
}
