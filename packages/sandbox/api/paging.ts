import { Refused } from "../refusal.ts";

const DEFAULT_MAX = 200;
const LARGEST_MAX = 1000;
const RANGE = /^([a-z_]+)(?:\s+|(?=\]|\.\.))(\])?([\w-]*)\.\.([\w-]*)\s*(?:;(.*))?$/i;

/** What a list can be ordered and paged by: ids, and names where each row has a unique one. */
export type Mark = "id" | "name";

const marksOf: Record<Mark, RegExp> = { id: /^[0-9a-f-]*$/i, name: /^[\w-]*$/ };

export interface Page<Row> {
  rows: Row[];
  status: 200 | 206;
  headers: Record<string, string>;
}

type Marked = { id: string } & Partial<Record<Mark, string>>;

/**
 * One page of a list: `Range: id ..; max=200`, answered with 206 and a `Next-Range` while more rows follow (assumed,
 * section 4). A `]` before the first id excludes that id. A row that is renamed while a client pages by id is neither
 * lost nor seen twice.
 */
export function pageOf<Row extends Marked>(
  all: Row[],
  range: string | undefined,
  marks: readonly Mark[] = ["id"],
): Page<Row> {
  const { mark, after, from, to, max, isDescending } = readRange(range, marks);
  const markOf = (row: Row) => row[mark] ?? "";
  const ordered = [...all].sort((a, b) => (markOf(a) < markOf(b) ? -1 : 1));
  if (isDescending) ordered.reverse();
  const isBehind = (one: string, other: string) => (isDescending ? one < other : one > other);
  const wanted = ordered
    .filter((row) => from === "" || isBehind(markOf(row), from) || (markOf(row) === from && !after))
    .filter((row) => to === "" || !isBehind(markOf(row), to));
  const rows = wanted.slice(0, max);
  const [first, last] = [rows[0], rows.at(-1)].map((row) => (row ? markOf(row) : ""));
  const options = `max=${max}${isDescending ? ",order=desc" : ""}`;
  const hasMore = wanted.length > rows.length;
  return {
    rows,
    status: hasMore ? 206 : 200,
    headers: {
      "Accept-Ranges": marks.join(", "),
      "Content-Range": `${mark} ${first}..${last}; ${options}`,
      ...(hasMore && { "Next-Range": `${mark} ]${last}..${to}; ${options}` }),
    },
  };
}

function readRange(range = "id ..", marks: readonly Mark[]) {
  const match = RANGE.exec(range.trim());
  const mark = marks.find((name) => name === match?.[1]?.toLowerCase());
  const [, , after, from = "", to = "", options = ""] = match ?? [];
  if (!mark || !marksOf[mark].test(from) || !marksOf[mark].test(to)) {
    throw notSatisfiable(
      `The Range header must look like "id ..; max=200"; this list is ordered by ${marks.join(" or ")}.`,
    );
  }
  const cased = (text: string) => (mark === "id" ? text.toLowerCase() : text);
  return { mark, after: after !== undefined, from: cased(from), to: cased(to), ...readOptions(options) };
}

function readOptions(text: string) {
  const options = { max: DEFAULT_MAX, isDescending: false };
  for (const option of text.split(/[,;]/).filter((part) => part.trim() !== "")) {
    const [name = "", value = ""] = option.trim().split("=");
    if (name === "max") options.max = readMax(value);
    else if (name === "order" && /^(asc|desc)$/.test(value)) options.isDescending = value === "desc";
    else throw notSatisfiable(`The Range header's option ${option.trim()} is not known.`);
  }
  return options;
}

function readMax(value: string): number {
  const max = /^\d+$/.test(value) ? Number(value) : 0;
  if (max >= 1 && max <= LARGEST_MAX) return max;
  throw notSatisfiable(`max must be a whole number from 1 to ${LARGEST_MAX}.`);
}

function notSatisfiable(message: string): Refused {
  return new Refused(416, "requested_range_not_satisfiable", message);
}
