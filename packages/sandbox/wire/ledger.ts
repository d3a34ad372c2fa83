import { membersOrSize, objectOrSize, readableBody } from "./body.ts";
import type { FaultAction } from "./fault.ts";
import { isWanted, type LedgerQuery } from "./ledger-query.ts";
import { type Masking, mayHoldSecrets } from "./masking.ts";

export type Headers = Record<string, string | string[] | number | undefined>;

/** One call as it went over the wire. `response` is null when no answer was given or received. */
export interface LedgerEntry {
  /** Counts from 1, in the order in which calls ended. */
  seq: number;
  /** When the call began, in real time, not that of the sandbox's clock. */
  at: string;
  /** "in": the service called us. "out": we called the service. */
  direction: "in" | "out";
  method: string;
  path: string;
  request: { headers: Headers; body: unknown };
  response: { status: number; headers: Headers; body: unknown } | null;
  ms: number;
  fault?: FaultAction;
  /** What in the partner's answer violates the platform's document, or why there was no answer. */
  complaints?: string[];
}

/** An entry as it is stored: bodies stay text, so a burst of calls costs no parsing. */
export type Call = Omit<LedgerEntry, "seq" | "at" | "request" | "response"> & {
  at: number;
  /** `size`: the size in bytes of a body that was too large to be stored. */
  request: { headers: Headers; text: string; size?: number };
  response: { status: number; headers: Headers; text: string } | null;
};

export interface LedgerPage {
  entries: LedgerEntry[];
  next: number;
}

export interface Ledger {
  add(call: Call): void;
  /**
   * The entries that a query asks for; secrets are masked unless `reveal`. Pass `next` as `since` of the following read.
   */
  read(query?: LedgerQuery): LedgerPage;
  /** The number of the last entry. */
  last(): number;
  clear(): void;
}

interface LedgerNeeds {
  /** How many calls are kept; the oldest are dropped. */
  size: number;
  masking: Masking;
  onEntry?: ((entry: LedgerEntry) => void) | undefined;
}

/**
 * Every call in both directions: what the tests check against, and what a partner's engineer reads to learn the
 * protocol.
 */
export function createLedger({ size, masking, onEntry }: LedgerNeeds): Ledger {
  let calls: { seq: number; call: Call }[] = [];
  let seq = 0;
  const masked = (seq: number, call: Call) => masking.maskCall(readable(seq, call, maskableReaders(call)));
  return {
    add(call) {
      calls.push({ seq: ++seq, call });
      // Dropped in batches: dropping one at a time would copy the list for each call.
      if (calls.length > size * 1.1 + 10) calls = calls.slice(-size);
      onEntry?.(masked(seq, call));
    },
    read({ since = 0, limit = Infinity, reveal = false, ...which } = {}) {
      const first = calls[0]?.seq ?? 0;
      // A number of before a restart: calls are counted anew.
      const later = calls.slice(since > seq ? 0 : Math.max(0, since - first + 1));
      const wanted = later.filter(({ call }) => isWanted(call, which));
      const page = wanted.slice(0, limit);
      const show = reveal ? readable : masked;
      const next = page.length < wanted.length ? page.at(-1)!.seq : seq;
      return { entries: page.map(({ seq, call }) => show(seq, call)), next };
    },
    last: () => seq,
    clear() {
      calls = [];
    },
  };
}

interface Readers {
  request: typeof readableBody;
  response: typeof readableBody;
}

/**
 * Bodies from others are parsed only into forms that can be masked, which plain text cannot; the secrets in the
 * platform's own answers are known.
 */
function maskableReaders(call: Call): Readers {
  if (mayHoldSecrets(call)) return { request: objectOrSize, response: objectOrSize };
  return { request: membersOrSize, response: call.direction === "in" ? readableBody : membersOrSize };
}

function readable(
  seq: number,
  { at, request, response, ...call }: Call,
  read: Readers = { request: readableBody, response: readableBody },
): LedgerEntry {
  const { headers, text, size } = request;
  const asked =
    size === undefined ? read.request(text, headers["content-type"]) : `[not kept: ${size} bytes]`;
  return {
    seq,
    at: new Date(at).toISOString(),
    ...call,
    request: { headers, body: asked },
    response: response && {
      status: response.status,
      headers: response.headers,
      body: read.response(response.text, response.headers["content-type"]),
    },
  };
}
