import { readFileSync } from "node:fs";

/** What runs here. `commit`: what `npm run build` built, with `-dirty` where files differed from it. */
export const build = Object.freeze({
  version: (JSON.parse(read("../package.json") || "{}") as { version?: string }).version ?? "unknown",
  commit: read("commit") || "unknown",
  node: process.versions.node,
});

export const buildText = `Version ${build.version}, commit ${build.commit}, Node ${build.node}`;

/** The text of a file, by its path from here; empty if it cannot be read: a missing label is no reason not to start. */
function read(file: string): string {
  try {
    return readFileSync(new URL(file, import.meta.url), "utf8").trim();
  } catch {
    return "";
  }
}
