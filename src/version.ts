import { readFileSync } from "node:fs";

/**
 * What runs here. `version`: that of package.json, which in a fork is that of the kit it merged last. `commit`: what
 * `npm run build` built, with `-dirty` where files differed from it; "unknown" from the sources, and where the build
 * found neither a repository nor the commit's name in the environment. `node`: the version of Node.
 */
export const build = Object.freeze({
  version: (JSON.parse(read("../package.json") || "{}") as { version?: string }).version ?? "unknown",
  commit: read("commit") || "unknown",
  node: process.versions.node,
});

/** The same in words. */
export const buildText = `Version ${build.version}, commit ${build.commit}, Node ${build.node}`;

/** The text of a file, by its path from here; empty if it cannot be read: a missing label is no reason not to start. */
function read(file: string): string {
  try {
    return readFileSync(new URL(file, import.meta.url), "utf8").trim();
  } catch {
    return "";
  }
}

/** The first version of each supported line of Node that has its security fixes. To be raised when Node releases new ones. */
export const FIXED_NODE = ["22.23.4", "24.22.1", "26.12.1"] as const;

/** What to do about a Node without them, as a sentence. */
export const HOW_TO_FIX_NODE = `In production, run ${FIXED_NODE.slice(0, -1).join(", ")}, ${FIXED_NODE.at(-1)} or newer of these lines.`;

/**
 * The sentence that a version of Node lacks security fixes; null if it has them. A line that ended has none, and one
 * newer than all of {@link FIXED_NODE} is taken to have them.
 */
export function missingNodeFixes(node: string = process.versions.node): string | null {
  // Major, minor and patch; a suffix such as `-nightly` is left out.
  const numbers = (text: string) => text.split(".").map((part) => Number.parseInt(part));
  const lines = FIXED_NODE.map(numbers);
  const [major = 0, minor = 0, patch = 0] = numbers(node);
  if (major > lines.at(-1)![0]!) return null;
  const [, leastMinor, leastPatch] = lines.find(([each]) => each === major) ?? [];
  if (leastMinor === undefined) return "This version of Node gets no security fixes: its line has ended.";
  const hasFixes = minor > leastMinor || (minor === leastMinor && patch >= leastPatch!);
  return hasFixes ? null : "This version of Node lacks security fixes, one of its Brotli decoder among them.";
}
