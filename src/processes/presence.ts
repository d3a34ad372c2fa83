import { randomUUID } from "node:crypto";
import os from "node:os";
import type { Failed } from "../database/database.ts";
import { isTransient, refusingState } from "../database/retry.ts";
import type { Queryable } from "../database/statement.ts";
import { messageOf, storable } from "../errors.ts";
import { EACH, type Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import type { Vault } from "../vault/vault.ts";
import { build } from "../version.ts";
import { within } from "../within.ts";
import { apart, type Clocks } from "./clocks.ts";
import { noticeRestore } from "./history.ts";
import {
  type Answer,
  type Identity,
  lateAfterSeconds,
  noticeMissing,
  type OwnState,
  type RefusedWrite,
  type Role,
  writeBeat,
} from "./store.ts";

type Needs = {
  db: Queryable;
  vault: Pick<Vault, "keyId" | "keyIds">;
  clocks: Clocks;
  log: Log;
  pace: Pick<Pace, "beatMs">;
  scrub(text: string): string;
};

/** A stop does not wait longer for the last beat. */
const LAST_BEAT_MS = 5_000;

/** A row is not pruned before it counts as ended. */
const PRUNED_AFTER_MS = 3_600_000;

/** A write that is refused so soon after another one is refused for the same trouble: writes of jobs alone come more often. */
const GOES_ON_MS = 300_000;

export const NO_HEARTBEAT = "it was killed without a signal, stands still, or cannot reach the database";

export type Presence = ReturnType<typeof createPresence>;

/**
 * What this process says of itself to the others, in its row: that it lives, every ten seconds, by a timer of its own.
 * Each beat also measures the database's clock, and looks whether another process is missing. Before `start`, as in a
 * command, nothing is written.
 */
export function createPresence({ db, vault, clocks, log, pace, scrub }: Needs) {
  const id = randomUUID();
  const madeMs = performance.now();
  const secondsSince = (ms: number) => (performance.now() - ms) / 1_000;
  const lateSeconds = lateAfterSeconds(pace);
  let identity: Identity | null = null;
  let state: OwnState = "starting";
  let why: string | null = null;
  let refused: (RefusedWrite & { atMs: number; firstMs: number }) | null = null;
  const calls = { wrong: 0, wrongMs: 0, rightMs: -1 };
  let timer: NodeJS.Timeout | undefined;
  /** Of the beats, one after the other. */
  let last: Promise<void> = Promise.resolve();
  let isBeating = false;
  /** The last beat that was sent, and the last that was stored, with its time. */
  const beats = { sent: 0, stored: 0, storedMs: 0 };
  /** What was logged and still lasts: that keys differ; which clock is wrong. */
  const reported = { keys: false, clocks: "" };

  async function beat(of: Identity): Promise<void> {
    isBeating = true;
    try {
      const end = clocks.measure("database");
      const answer = await writeBeat(
        db,
        of,
        {
          state,
          why,
          upSeconds: secondsSince(madeMs),
          ahead: clocks.ahead(),
          beats: (beats.sent += 1),
          refused: refused && {
            ...refused,
            agoSeconds: secondsSince(refused.atMs),
            firstAgoSeconds: secondsSince(refused.firstMs),
          },
          calls: {
            wrongPasswords: calls.wrong,
            wrongAgoSeconds: calls.wrong > 0 ? secondsSince(calls.wrongMs) : null,
            rightAgoSeconds: calls.rightMs < 0 ? null : secondsSince(calls.rightMs),
          },
        },
        lateSeconds,
      );
      end(answer.nowMs);
      if (state !== "stopped") await noticeRestore({ db, log }, beatsLost(answer));
      if (answer.isWritten) Object.assign(beats, { stored: beats.sent, storedMs: Date.now() });
      if (state !== "stopped") report(answer);
      if (state === "ready") await lookForMissing();
    } catch (error) {
      // The watch of the database reports an outage.
      const level = isTransient(error) ? "debug" : "warn";
      log[level]({ reason: messageOf(error) }, "This process cannot write that it runs");
    } finally {
      isBeating = false;
    }
  }

  /** The row of a process that stood still for long may have been pruned. */
  function beatsLost({ beatsBefore }: Answer): number {
    return Date.now() - beats.storedMs < PRUNED_AFTER_MS ? beats.stored - beatsBefore : 0;
  }

  function beatNow(): Promise<void> {
    if (!identity) return last;
    const of = identity;
    return (last = last.then(() => beat(of)));
  }

  async function lookForMissing(): Promise<void> {
    for (const { seconds, ...process } of await noticeMissing(db, lateSeconds)) {
      const about = { alarm: "process_missing", ...process, seconds: Math.round(seconds), [EACH]: true };
      log.error(about, `A process has sent no heartbeat for ${about.seconds} s: ${NO_HEARTBEAT}`);
    }
  }

  function report({ missedSeconds, lacking }: Answer): void {
    if (missedSeconds !== null)
      log.warn(
        { seconds: Math.round(missedSeconds) },
        "This process sends heartbeats again: it stood still, or could not reach the database",
      );
    const keys = { alarm: "keys_differ", keyId: vault.keyId, processes: lacking };
    if (lacking.length > 0 && !reported.keys)
      log.error(keys, "This process seals with a key that other processes cannot decrypt with");
    else if (lacking.length === 0 && reported.keys)
      log.info({ keyId: vault.keyId }, "All processes can decrypt with the key of this one again");
    reported.keys = lacking.length > 0;
    const found = apart(clocks.ahead());
    // Which of two clocks is wrong may show only when the platform has answered.
    const clock = found?.message.replace(/\d+/g, "") ?? "";
    if (found && clock !== reported.clocks)
      log.error({ alarm: "clocks_apart", seconds: found.seconds, ...clocks.ahead() }, found.message);
    else if (!found && reported.clocks) log.info("The clocks agree again");
    reported.clocks = clock;
  }

  return {
    id,
    /** As people read it: "worker host:123", or "kit host:123" of a command, which has no row. */
    name: () => `${identity?.role ?? "kit"} ${os.hostname()}:${process.pid}`,
    /** Writes the row and keeps it fresh from now on. A second call does nothing. */
    start(role: Role): void {
      if (identity) return;
      const { keyId, keyIds } = vault;
      identity = { id, role, host: os.hostname(), pid: process.pid, ...build, keyId, keyIds };
      void beatNow();
      timer = setInterval(() => isBeating || void beatNow(), pace.beatMs).unref();
    },
    become(next: "ready" | "stopping"): void {
      state = next;
      void beatNow();
    },
    /** Notes a call with the platform's user, and whether its password was right; the next beat stores it. */
    called(isRight: boolean): void {
      const nowMs = performance.now();
      if (isRight) calls.rightMs = nowMs;
      else if (calls.wrong === 0) calls.wrongMs = nowMs;
      calls.wrong = isRight ? 0 : calls.wrong + 1;
    },
    /** Notes an error of a statement, if the database refused a write for its own state; the next beat stores it. */
    failed(error: unknown, { name, isWrite }: Failed): void {
      const sqlState = refusingState(error);
      if (sqlState === null || !isWrite) return;
      const reason = storable(scrub(`${name}: ${messageOf(error)}`));
      const atMs = performance.now();
      const goesOn = refused?.state === sqlState && atMs - refused.atMs < GOES_ON_MS;
      refused = { state: sqlState, reason, atMs, firstMs: goesOn ? refused!.firstMs : atMs };
    },
    /** Writes that this process has ended. `cause`: why it did by itself. */
    async end(cause: string | null): Promise<void> {
      clearInterval(timer);
      [state, why] = ["stopped", cause];
      const late = () => new Error("the database does not answer");
      await within(LAST_BEAT_MS, beatNow(), late).catch(() => undefined);
    },
  };
}
