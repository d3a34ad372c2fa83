import type { Request, Response } from "express";
import type { Log } from "../logging/log.ts";
import { clientAddress } from "./proxies.ts";

/** What a password opens. */
export const DOORS = ["platform", "operator", "metrics"] as const;
export type Door = (typeof DOORS)[number];

const WINDOW_MS = 60_000;
/** So many in a window are refused at once: of one address, and in all. */
const MOST_AT_ONCE = 20;
const MOST_IN_ALL = 100;
/** Each further one waits so many steps longer, at most. */
const MOST_STEPS = 80;
/** Addresses that are counted apart; in a window without room for another one, it counts in all alone. */
const MOST_ADDRESSES = 10_000;

export interface WrongPasswords {
  /** Counts a request with a wrong password, and calls `refuse`, the later the more there were. */
  slowDown(request: Request, response: Response, door: Door, refuse: () => void): void;
}

/**
 * Slows down those who guess passwords, `stepMs` more for each guess beyond a few: by their address, and in all. An
 * alarm says when there are many.
 */
export function createWrongPasswords(needs: {
  count(door: Door): void;
  stepMs: number;
  log: Log;
}): WrongPasswords {
  const { count, stepMs, log } = needs;
  const byAddress = new Map<string, number>();
  let inAll = 0;

  function forget(): void {
    byAddress.clear();
    inAll = 0;
  }

  return {
    slowDown(request, response, door, refuse) {
      count(door);
      const address = clientAddress(request) ?? "";
      const of = (byAddress.get(address) ?? 0) + 1;
      if (of > 1 || byAddress.size < MOST_ADDRESSES) byAddress.set(address, of);
      inAll += 1;
      if (inAll === 1) setTimeout(forget, WINDOW_MS).unref();
      if (inAll === MOST_IN_ALL)
        log.error(
          { alarm: "wrong_passwords", door, address, addresses: byAddress.size },
          "Somebody guesses passwords",
        );
      const steps = Math.min(Math.max(of - MOST_AT_ONCE, inAll - MOST_IN_ALL, 0), MOST_STEPS);
      if (steps === 0) return refuse();
      const timer = setTimeout(refuse, steps * stepMs);
      response.once("close", () => clearTimeout(timer));
    },
  };
}
