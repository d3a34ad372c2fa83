import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  timeDeltas: number[];
}

/** Where the time of a process went, by function; its own time, without that of what it called. */
export interface SelfTime {
  name: string;
  /** The package, or the file of ours, that the function stands in. */
  place: string;
  share: number;
}

/** Reads the profiles in `folder`, adds them up and takes them away. The most expensive first. */
export function readProfiles(folder: string): { functions: SelfTime[]; places: SelfTime[] } {
  const functions = new Map<string, number>();
  const places = new Map<string, number>();
  let total = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"))) {
    const profile = JSON.parse(readFileSync(path.join(folder, file), "utf8")) as CpuProfile;
    const nodes = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
    profile.samples.forEach((id, i) => {
      const { functionName, url } = nodes.get(id)!;
      if (functionName === "(idle)") return;
      const micros = profile.timeDeltas[i]!;
      const place = placeOf(url);
      const key = `${functionName || "(anonymous)"}\t${place}`;
      functions.set(key, (functions.get(key) ?? 0) + micros);
      places.set(place, (places.get(place) ?? 0) + micros);
      total += micros;
    });
    rmSync(path.join(folder, file));
  }
  const sorted = (sums: Map<string, number>, split: (key: string) => { name: string; place: string }) =>
    [...sums]
      .sort(([, a], [, b]) => b - a)
      .map(([key, micros]) => ({ ...split(key), share: micros / total }));
  return {
    functions: sorted(functions, (key) => ({ name: key.split("\t")[0]!, place: key.split("\t")[1]! })),
    places: sorted(places, (place) => ({ name: place, place })),
  };
}

function placeOf(url: string): string {
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name) return name;
  if (url === "") return "(node)";
  const [, ours] = /\/dist\/(.*)$/.exec(url) ?? [];
  return ours ?? url;
}

/** Both tables for people: the first `most` rows of each, in percent of the time that was not idle. */
export function profileText({ functions, places }: ReturnType<typeof readProfiles>, most = 25): string {
  const percent = (share: number) => `${(share * 100).toFixed(1).padStart(5)} %`;
  return [
    "  by package or file",
    ...places.slice(0, 12).map(({ place, share }) => `  ${percent(share)}  ${place}`),
    "  by function",
    ...functions
      .slice(0, most)
      .map(({ name, place, share }) => `  ${percent(share)}  ${name.padEnd(32)} ${place}`),
  ].join("\n");
}
