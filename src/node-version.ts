/** The first version of each supported line of Node that has its security fixes. To be raised when Node releases new ones. */
export const FIXED_NODE = ["22.23.4", "24.22.1", "26.12.1"] as const;

/**
 * The sentence that a version of Node lacks security fixes; null if it has them. A line that ended has none,
 * and one newer than all of {@link FIXED_NODE} is taken to have them.
 */
export function missingNodeFixes(node: string = process.versions.node): string | null {
  const lines = FIXED_NODE.map(numbers);
  const [major, minor, patch] = numbers(node);
  if (major > lines.at(-1)![0]) return null;
  const line = lines.find(([each]) => each === major);
  if (!line) return "This version of Node gets no security fixes: its line has ended.";
  const hasFixes = minor > line[1] || (minor === line[1] && patch >= line[2]);
  return hasFixes ? null : "This version of Node lacks security fixes, one of its Brotli decoder among them.";
}

/** What to do about it, as a sentence. */
export const HOW_TO_FIX_NODE = `In production, run ${FIXED_NODE.slice(0, -1).join(", ")}, ${FIXED_NODE.at(-1)} or newer of these lines.`;

/** Major, minor and patch; a suffix such as `-nightly` is left out. */
function numbers(node: string): [major: number, minor: number, patch: number] {
  return node.split(".").map((part) => Number.parseInt(part)) as [number, number, number];
}
