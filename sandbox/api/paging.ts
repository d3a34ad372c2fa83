import { Refused } from "../refusal.ts";

const DEFAULT_MAX = 200;
const LARGEST_MAX = 1000;
const RANGE = /^id\s*(\])?([0-9a-f-]*)\.\.([0-9a-f-]*)\s*(?:;(.*))?$/i;

export interface Page<Row> {
  rows: Row[];
  status: 200 | 206;
  headers: Record<string, string>;
}

/**
 * One page of a list in the order of its ids: `Range: id ..; max=200`, answered with 206 and a `Next-Range` while
 * there is more (decisions, section 4). A `]` before the first id leaves that id out.
 */
export function pageOf<Row extends { id: string }>(all: Row[], range: string | undefined): Page<Row> {
  const { after, from, to, max, isDescending } = readRange(range);
  const ordered = [...all].sort((a, b) => (a.id < b.id ? -1 : 1));
  if (isDescending) ordered.reverse();
  const isBehind = (id: string, mark: string) => (isDescending ? id < mark : id > mark);
  const wanted = ordered.filter(
    ({ id }) =>
      (from === "" || isBehind(id, from) || (id === from && !after)) && (to === "" || !isBehind(id, to)),
  );
  const rows = wanted.slice(0, max);
  const hasMore = wanted.length > rows.length;
  const [first, last] = [rows[0]?.id ?? "", rows.at(-1)?.id ?? ""];
  const suffix = `max=${max}${isDescending ? ",order=desc" : ""}`;
  return {
    rows,
    status: hasMore ? 206 : 200,
    headers: {
      "Accept-Ranges": "id",
      "Content-Range": `id ${first}..${last}; ${suffix}`,
      ...(hasMore && { "Next-Range": `id ]${last}..${to}; ${suffix}` }),
    },
  };
}

function readRange(range = "id ..") {
  const match = RANGE.exec(range.trim());
  if (!match) throw notSatisfiable('The Range header must look like "id ..; max=200"; only id is accepted.');
  const [, after, from = "", to = "", options = ""] = match;
  let max = DEFAULT_MAX;
  let isDescending = false;
  for (const option of options.split(",").filter((text) => text.trim() !== "")) {
    const [name = "", value = ""] = option.trim().split("=");
    if (name === "max") max = readMax(value);
    else if (name === "order" && /^(asc|desc)$/.test(value)) isDescending = value === "desc";
    else throw notSatisfiable(`The Range header's option ${name} is not known.`);
  }
  return { after: after !== undefined, from: from.toLowerCase(), to: to.toLowerCase(), max, isDescending };
}

function readMax(value: string): number {
  const max = Number(value);
  if (Number.isInteger(max) && max >= 1 && max <= LARGEST_MAX) return max;
  throw notSatisfiable(`max must be a whole number from 1 to ${LARGEST_MAX}.`);
}

function notSatisfiable(message: string): Refused {
  return new Refused(416, "requested_range_not_satisfiable", message);
}
