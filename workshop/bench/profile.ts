import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

/** The share of processor time of one function or place. */
export interface Cost {
  /** The function; empty for a whole place. */
  name: string;
  /** The package, or our own file, that contains the function. */
  place: string;
  /** A fraction of the time that was not idle. */
  share: number;
}

export interface Costs {
  /** By package or file, without the time of its callees. */
  places: Cost[];
  /** By function, without the time of its callees. */
  functions: Cost[];
  /** By function of ours, with the time of all its callees. */
  whole: Cost[];
}

/** Reads the profiles in `folder`, sums them up and deletes them. The most expensive first. */
export function readProfiles(folder: string): Costs {
  const [places, functions, whole] = [createSums(), createSums(), createSums()];
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"))) {
    const profile = JSON.parse(readFileSync(path.join(folder, file), "utf8")) as CpuProfile;
    const lineOf = callers(profile);
    profile.samples.forEach((id, i) => {
      const line = lineOf(id);
      const [own] = line;
      if (own!.startsWith("(idle)")) return;
      const micros = profile.timeDeltas[i]!;
      places.add(`\t${placeIn(own!)}`, micros);
      functions.add(own!, micros);
      for (const each of new Set(line.filter(isOurs))) whole.add(each, micros);
    });
    rmSync(path.join(folder, file));
  }
  const total = places.total();
  return {
    places: places.sorted(total),
    functions: functions.sorted(total),
    whole: whole.sorted(total),
  };
}

/** Returns a function that gives a node's call stack, its own function first; each as `name⇥place`. */
function callers({ nodes }: CpuProfile): (id: number) => string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callerOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const known = new Map<number, string[]>();
  return function lineOf(id): string[] {
    const seen = known.get(id);
    if (seen) return seen;
    const { functionName, url } = byId.get(id)!.callFrame;
    const caller = callerOf.get(id);
    const line = [
      `${functionName || "(anonymous)"}\t${placeOf(url)}`,
      ...(caller === undefined ? [] : lineOf(caller)),
    ];
    known.set(id, line);
    return line;
  };
}

function createSums() {
  const sums = new Map<string, number>();
  return {
    add: (key: string, micros: number) => void sums.set(key, (sums.get(key) ?? 0) + micros),
    total: () => [...sums.values()].reduce((sum, micros) => sum + micros, 0),
    sorted: (total: number): Cost[] =>
      [...sums]
        .sort(([, a], [, b]) => b - a)
        .map(([key, micros]) => ({ name: key.split("\t")[0]!, place: placeIn(key), share: micros / total })),
  };
}

function placeIn(key: string): string {
  return key.split("\t")[1]!;
}

/** Whether the place is a file of the service; packages and node's own parts have other names. */
function isOurs(key: string): boolean {
  return placeIn(key).endsWith(".js");
}

function placeOf(url: string): string {
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name) return name;
  if (url === "") return "(node)";
  const [, ours] = /\/dist\/(.*)$/.exec(url) ?? [];
  return ours ?? url;
}

/** The costs as text: at most 12 places and `most` functions of each list, in percent of the time that was not idle. */
export function profileText({ functions, places, whole }: Costs, most = 25): string {
  if (places.length === 0)
    return "  No process of the service ran here: PostgreSQL was asked by the bench itself.";
  const row = ({ name, place, share }: Cost) =>
    `  ${(share * 100).toFixed(1).padStart(5)} %  ${name.padEnd(name ? 32 : 0)} ${place}`;
  return [
    "  by package or file, without what it called",
    ...places.slice(0, 12).map(row),
    "  by function, without what it called",
    ...functions.slice(0, most).map(row),
    "  by function of ours, with what it called",
    ...whole.slice(0, most).map(row),
  ].join("\n");
}
