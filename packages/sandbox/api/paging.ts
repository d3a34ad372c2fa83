import { Refused } from "../refusal.ts";

const DEFAULT_MAX = 200;
const LARGEST_MAX = 1000;
const RANGE = /^([a-z_]+)\s*(\])?([^\s;]*?)\.\.([^\s;]*)\s*(?:;(.*))?$/i;

/** What a list can be ordered and paged by, if all its objects have it. */
const MARKS = ["id", "name", "version", "created_at", "updated_at"] as const;
type Mark = (typeof MARKS)[number];

export interface Page<Shape> {
  shapes: Shape[];
  status: 200 | 206;
  headers: Record<string, string>;
}

export type Listed = { id: string; updated_at: string } & Partial<Record<Mark, unknown>>;

/**
 * One page of a list: `Range: id ..; max=200`, answered with 206 and a `Next-Range` while more objects follow (assumed,
 * section 4). A `]` before the first bound excludes it. An object that is renamed while a client pages by id is neither
 * lost nor seen twice.
 */
export function pageOf<Shape extends Listed>(all: Shape[], range: string | undefined): Page<Shape> {
  const offered = MARKS.filter((mark) =>
    mark === "version"
      ? all.length > 0 && all.every((each) => typeof each[mark] === "number")
      : all.every((each) => typeof each[mark] === "string"),
  );
  const { mark, after, from, to, end, max, isDescending } = readRange(range, offered);
  const sign = isDescending ? -1 : 1;
  /** Where an object stands to a bound. */
  const compared = (each: Shape, { value, id }: Bound) =>
    sign * (order(mark, String(each[mark]), value) || (id === undefined ? 0 : order("id", each.id, id)));
  const boundAt = (each: Shape) => ({ value: String(each[mark]), id: each.id });
  const wanted = [...all]
    .sort((a, b) => compared(a, boundAt(b)))
    .filter((each) => from === null || (after ? compared(each, from) > 0 : compared(each, from) >= 0))
    .filter((each) => to === null || compared(each, to) <= 0);
  const shapes = wanted.slice(0, max);
  const [first, last] = [shapes[0], shapes.at(-1)].map((each) => (each ? String(each[mark]) : ""));
  const options = `max=${max}${isDescending ? ",order=desc" : ""}`;
  const hasMore = wanted.length > shapes.length;
  return {
    shapes,
    status: hasMore ? 206 : 200,
    headers: {
      "Accept-Ranges": offered.join(", "),
      "Content-Range": `${mark} ${first}..${last}; ${options}`,
      ...(hasMore && {
        "Next-Range": `${mark} ]${last}${mark === "id" ? "" : `~${shapes.at(-1)!.id}`}..${end}; ${options}`,
      }),
    },
  };
}

/** Negative, 0 or positive. Times are compared as such, however they are written. */
function order(mark: Mark, one: string, other: string): number {
  if (mark.endsWith("_at")) return Date.parse(one) - Date.parse(other);
  if (mark === "version") return Number(one) - Number(other);
  const [a, b] = mark === "id" ? [one.toLowerCase(), other.toLowerCase()] : [one, other];
  return a < b ? -1 : Number(a > b);
}

function readRange(range = "id ..", offered: readonly Mark[]) {
  const match = RANGE.exec(range.trim());
  const mark = offered.find((name) => name === match?.[1]?.toLowerCase());
  const [, , after, start = "", end = "", options = ""] = match ?? [];
  const [from, to] = [start, end].map((text) => (mark && text !== "" ? boundIn(mark, text) : null));
  if (!mark || from === undefined || to === undefined) {
    throw notSatisfiable(
      `The Range header must look like "id ..; max=200"; this list is ordered by ${offered.join(", ")}.`,
    );
  }
  return { mark, after: after !== undefined, from, to, end, ...readOptions(options) };
}

/** One end of a range. */
interface Bound {
  value: string;
  /** Tells objects apart that have the same value. */
  id?: string | undefined;
}

/** `VALUE`, or `VALUE~ID` as in a `Next-Range`; undefined if it is neither. */
function boundIn(mark: Mark, text: string): Bound | undefined {
  const [value = "", id] = text.split("~");
  const isTime = /^\d{4}-\d\d-\d\d/.test(value) && !Number.isNaN(Date.parse(value));
  const pattern = { id: /^[0-9a-f-]+$/i, version: /^\d+$/ }[mark as string] ?? /^[\w-]+$/;
  const isValue = mark.endsWith("_at") ? isTime : pattern.test(value);
  return isValue ? { value, id } : undefined;
}

function readOptions(text: string) {
  const options = { max: DEFAULT_MAX, isDescending: false };
  for (const option of text.split(/[,;]/).filter((part) => part.trim() !== "")) {
    const [name = "", value = ""] = option.split("=").map((part) => part.trim().toLowerCase());
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
