import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** The word of every alarm that the code raises, once each and sorted. */
export function alarmWords(): string[] {
  const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  const raised = sources.flatMap((name) =>
    [...readFileSync(path.join(src, name), "utf8").matchAll(/alarm: "(\w+)"/g)].map(([, word]) => word!),
  );
  return [...new Set(raised)].sort();
}
