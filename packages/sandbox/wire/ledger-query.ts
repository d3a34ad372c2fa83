import { isMatch } from "./match.ts";

/** Which calls to read from the ledger. */
export interface LedgerQuery {
  /** The `next` of an earlier answer. */
  since?: number;
  /** At most so many entries; the oldest first. */
  limit?: number;
  /** Only calls that these words mean, as those of a fault. */
  match?: string;
  /** Only answers with this status (`"401"`) or of this kind (`"4xx"`); `"none"`: calls without an answer. */
  status?: string;
  /** Only calls whose answer violates the platform's document. */
  complaints?: boolean;
  /** Secrets are not masked. */
  reveal?: boolean;
}

interface EndedCall {
  direction: "in" | "out";
  method: string;
  path: string;
  response: { status: number } | null;
  complaints?: string[];
}

/** Whether a call is one of those that a query asks for, whatever its number. */
export function isWanted(call: EndedCall, { match, status, complaints = false }: LedgerQuery): boolean {
  const [path] = call.path.split("?");
  if (match !== undefined && !isMatch(match, call.direction, `${call.method} ${path}`)) return false;
  if (status !== undefined && !hasStatus(call, status)) return false;
  return !complaints || (call.complaints?.length ?? 0) > 0;
}

function hasStatus({ response }: EndedCall, wanted: string): boolean {
  const status = response ? String(response.status) : "none";
  return wanted.endsWith("xx") ? status.startsWith(wanted.charAt(0)) && response !== null : status === wanted;
}
