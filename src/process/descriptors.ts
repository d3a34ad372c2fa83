import { readdirSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { devNull } from "node:os";
import { isExhausted, messageOf } from "../errors.ts";
import type { RunningService } from "./start-up.ts";

/** Each takes memory, too: 8 kB while it is idle. */
export const MOST_CONNECTIONS = 8_000;
/** Cautious numbers where there is no /proc. */
const ELSEWHERE = { limit: 1_024, inUse: 64 };

/**
 * How many connections a web process that has just started may accept: half of the file descriptors that it can still open
 * beside its connections to the database. The other half is for its calls to the platform, and for your service.
 */
export function mostConnections(databasePool: number): number {
  const { limit, inUse } = descriptors();
  const left = limit - inUse - databasePool;
  return Math.min(Math.max(Math.floor(left / 2), 1), MOST_CONNECTIONS);
}

function descriptors(): typeof ELSEWHERE {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return { limit: Number(limit ?? Infinity), inUse: readdirSync("/proc/self/fd").length };
  } catch {
    return ELSEWHERE;
  }
}

const LOOK_EVERY_MS = 1_000;

/**
 * Raises an alarm while no file descriptor is free. The system then closes each new connection, which no code of this
 * process notices.
 */
export function alarmWhenExhausted({ services: { log } }: RunningService): void {
  const look = async () => {
    const error = await open(devNull)
      .then((file) => file.close())
      .catch((error: unknown) => error);
    if (!isExhausted(error)) return;
    const about = { alarm: "descriptors_exhausted", reason: messageOf(error) };
    log.error(
      about,
      "No file descriptor is free: new connections are closed, and calls to the platform fail",
    );
  };
  setInterval(look, LOOK_EVERY_MS).unref();
}
