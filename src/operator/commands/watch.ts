import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { WriteStream } from "node:tty";
import type { How } from "../report.ts";
import { moment } from "../wording.ts";
import type { Paint } from "./host.ts";
import { FAILED, failureOf, jsonText, type Outcome, safe } from "./outcome.ts";
import type { Session } from "./session.ts";
import { rowsOf, wrapped } from "./wrap.ts";

/** What is seen at one look. */
export interface Seen {
  data: object;
  /** The block that a terminal shows. */
  show(paint: Paint): string;
  /** The same in a line, for what is no terminal. */
  line: string;
  exitCode: number;
  /** There is nothing more to see. */
  isOver?: boolean;
}

/**
 * Looks again and again, until it is over or a signal ends it: on a terminal a block that is renewed in place, elsewhere a
 * line for each look, with --json a document. The exit code is that of the last look.
 */
export async function watch(session: Session, title: string, look: () => Promise<Seen>): Promise<Outcome> {
  const { host, isJson, pace } = session;
  const { signal } = session.how({ isQuiet: true });
  session.endProgress();
  const paint = session.paint("stdout");
  const isBlock = host.stdout.isTTY && !isJson;
  const draw = blockOn(host.stdout);
  const aborted = new Promise<null>((resolve) => signal.addEventListener("abort", () => resolve(null)));
  let exitCode = FAILED;
  for (let isOver = false; !isOver && !signal.aborted && host.stdout.writable;) {
    const seen = await Promise.race([look().catch(tried), aborted]);
    if (seen === null) break;
    ({ exitCode, isOver = false } = seen);
    const now = new Date().toISOString();
    const at = moment(now);
    if (isJson) await session.write(jsonText({ at: now, ...seen.data }));
    else if (!isBlock) await session.write(`${at}  ${seen.line}`);
    else
      draw(
        [
          paint.dim(`${title} · ${at} UTC · every ${pace.watchMs / 1_000} s until Ctrl-C`),
          seen.show(paint),
        ].join("\n"),
      );
    if (!isOver) await sleep(pace.watchMs, undefined, { signal }).catch(() => undefined);
  }
  return { data: null, isWritten: true, exitCode, show: () => "" };

  /** The database may be away for a while; anything else ends it. */
  function tried(error: unknown): Seen {
    const { data, message, show } = failureOf(error, session.scrub);
    const { id } = data as { id: string };
    if (!id.startsWith("database_")) throw error;
    return { data: data as object, show, line: safe(message), exitCode: FAILED };
  }
}

/** While `work` runs, says how far it is: a terminal has its bar. */
export async function told<Result>(
  session: Session,
  how: How,
  work: (how: How) => Promise<Result>,
): Promise<Result> {
  let far = { done: 0, total: 0 };
  const onProgress = (done: number, total: number) => {
    far = { done, total };
    how.onProgress?.(done, total);
  };
  const say = () => {
    const at = new Date().toISOString();
    const line = session.isJson ? jsonText({ at, ...far }) : `${moment(at)}  ${far.done} of ${far.total}`;
    void session.write(line);
  };
  const timer = session.host.stdout.isTTY ? undefined : setInterval(say, session.pace.watchMs);
  return work({ ...how, onProgress }).finally(() => clearInterval(timer));
}

/** Draws a block over the one before. */
function blockOn(stream: WriteStream): (text: string) => void {
  let rows = 0;
  return (text) => {
    const lines = text.split("\n").flatMap((line) => wrapped(line, stream.columns));
    if (rows >= stream.rows) cursorTo(stream, 0, 0);
    else if (rows > 0) {
      moveCursor(stream, 0, -rows);
      cursorTo(stream, 0);
    }
    if (rows > 0) clearScreenDown(stream);
    stream.write(`${lines.join("\n")}\n`);
    rows = rowsOf(lines, stream.columns);
  };
}
