/** What the words for calls must be, as faults and the ledger take them. */
export const CALL_WORDS = 'must look like "POST /oauth/token", "* /addons/*" or "> POST /resources"';

/** Whether these are words for calls: `"METHOD /path"`, with a leading `>` for those to the service. */
export function isCallWords(match: unknown): match is string {
  return typeof match === "string" && /^(>\s*)?([A-Za-z*]+\s+)?\//.test(match.trim());
}

/** Whether a call, given as method and path without its query, is one of those that the words mean. */
export function isMatch(match: string, direction: "in" | "out", call: string): boolean {
  const isOut = match.trim().startsWith(">");
  if (isOut !== (direction === "out")) return false;
  const wanted = match.trim().replace(/^>\s*/, "");
  const withMethod = wanted.startsWith("/") ? `* ${wanted}` : wanted.replace(/\s+/, " ");
  const pattern = withMethod.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*");
  return new RegExp(`^${pattern}$`, "i").test(call);
}
