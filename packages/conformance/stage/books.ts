import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { Reply } from "./wire.ts";

/** One call of the service to the platform. Times are those of `performance.now()`. */
export interface Call {
  /** When the call's headers had arrived. */
  at: number;
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  /** The members of a form; empty if the body is not a form. */
  form: Record<string, string>;
  kind: "exchange" | "refresh" | "token" | "api";
  /** The resource that the call concerns; null if nothing in it says so. */
  uuid: string | null;
  /** True for an exchange that came before the provision request was answered. */
  isEarly: boolean;
  /** The platform has done the work; its answer may be held back. */
  isServed: boolean;
  /** Null until the call is answered, and when the connection was cut. */
  reply: Reply | null;
  endedAt: number | null;
  /** For how many ms the checker had stood still by then. */
  stoodStillMs: number;
}

/** A grant code that was sent to the service. */
export interface Code {
  uuid: string;
  /** The service has answered the request that carried it. */
  isAnswered: boolean;
  /** The platform has processed that answer too. */
  isSettled: boolean;
}

/** A token as the service knows it, and as the platform knows it. */
export interface Token {
  uuid: string;
  kind: "access" | "refresh";
  real: string;
  /** When it expires, if the checker simulates that; by `performance.now()`. */
  endsAt: number | null;
}

const STEP_MS = 50;
/** A step that took so long was no slow one: the process did not run. */
const STANDSTILL_MS = 500;
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;
/** Number of characters of a token that do not match by chance. */
const BEGINNING = 20;

/** All calls in both directions, and the secrets that were handed out. */
export function createBooks() {
  const changes = new EventEmitter().setMaxListeners(0);
  const calls: Call[] = [];
  const replies: Reply[] = [];
  const codes = new Map<string, Code>();
  const tokens = new Map<string, Token>();
  let stoodStillMs = 0;
  let sinceStep = performance.now();
  const steps = setInterval(() => {
    const stepMs = performance.now() - sinceStep;
    sinceStep += stepMs;
    if (stepMs > STANDSTILL_MS) stoodStillMs += stepMs;
  }, STEP_MS).unref();

  return {
    calls,
    /** All answers of the service. */
    replies,
    codes,
    tokens,
    /** How many ms this process has not run in all, as on a busy machine: the service is not to blame for these. */
    stoodStillMs() {
      const stepMs = performance.now() - sinceStep;
      return stoodStillMs + (stepMs > STANDSTILL_MS ? stepMs : 0);
    },
    close: () => clearInterval(steps),
    /** Must be called after each change that `until` may wait for. */
    changed: () => void changes.emit("change"),

    /** Waits until `look` finds something, for at most `withinMs`; then null. */
    async until<Found>(
      look: () => Found | undefined | null | false,
      withinMs: number,
    ): Promise<Found | null> {
      const first = look();
      if (first) return first;
      return new Promise((resolve) => {
        const end = (found: Found | null) => {
          clearTimeout(timer);
          changes.off("change", again);
          resolve(found);
        };
        const again = () => {
          const found = look();
          if (found) end(found);
        };
        // Counted in small steps, so that a busy machine gets proportionally more time. Then two more rounds of the
        // event loop, so that data that has arrived but was not read yet counts.
        let left = Math.ceil(withinMs / STEP_MS);
        let timer: NodeJS.Timeout;
        const step = () => {
          if (left-- > 0) timer = setTimeout(step, Math.min(STEP_MS, withinMs));
          else setImmediate(() => setImmediate(() => end(look() || null)));
        };
        step();
        changes.on("change", again);
      });
    },

    /** The resource that a call concerns: by its path, or by a secret of that resource anywhere in it. */
    uuidOf({ path, headers, text }: Pick<Call, "path" | "headers" | "text">): string | null {
      // An app has a uuid too.
      const inPath: string[] = path.toLowerCase().match(UUID) ?? [];
      const known = [...codes.values()].find(({ uuid }) => inPath.includes(uuid));
      return (known ?? secretIn(`${path} ${headers.authorization ?? ""} ${text}`))?.uuid ?? null;
    },

    secretIn,
  };

  /**
   * The first secret in a text that was handed out; a token is recognized by its beginning, even if the rest was
   * changed.
   */
  function secretIn(text: string): { uuid: string; kind: "code" | "token" } | null {
    const said = decoded(text);
    for (const [code, { uuid }] of codes) if (said.includes(code)) return { uuid, kind: "code" };
    const small = said.toLowerCase();
    for (const [token, { uuid }] of tokens)
      if (small.includes(token.slice(0, BEGINNING).toLowerCase())) return { uuid, kind: "token" };
    return null;
  }
}

export type Books = ReturnType<typeof createBooks>;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
