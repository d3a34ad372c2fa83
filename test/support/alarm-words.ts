import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** The names of all alarms that the code raises, without duplicates, sorted. */
export function alarmWords(): string[] {
  return [...new Set(found(/alarm: "(\w+)"/g).map(([, word]) => word!))].sort();
}

/** The calls that log an alarm at a level that may be filtered out. */
export function quietAlarms(): string[] {
  return found(/\.(?:trace|debug|info|warn)\(\s*\{[^}]*\balarm\b[^}]*\}/g).map(([call]) => call);
}

function found(pattern: RegExp): RegExpMatchArray[] {
  const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  return sources.flatMap((name) => [...readFileSync(path.join(src, name), "utf8").matchAll(pattern)]);
}
