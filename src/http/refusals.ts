import type { Request, Response } from "express";
import type { Pace } from "../pace.ts";
import { clientAddress } from "./requests.ts";

// The refusal of a wrong password is delayed, longer with each one from the same source, so that guessing takes long. Each
// delayed refusal keeps a connection open, so their number is limited, and further refusals are sent at once. A right
// password is never delayed, whoever else guesses from its address.

/** The delay of the n-th refusal, as a share of the longest. A typing error is refused at once. */
const SHARES = [0, 0, 0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1];
const MOST_HELD = 64;
const MOST_HELD_OF_SOURCE = 16;
const FORGET_AFTER_MS = 15 * 60_000;
const MOST_SOURCES = 10_000;

interface Source {
  wrong: number;
  held: number;
  lastAtMs: number;
}

/** `hold` resolves when a wrong password may be refused; `release` ends all delays. */
export function createRefusals({ refusalMs }: Pace) {
  const sources = new Map<string, Source>();
  const held = new Set<() => void>();

  /** Counts a wrong password. The source that was seen last stands last; the first one is forgotten if there are too many. */
  function noted(address: string): Source {
    const nowMs = performance.now();
    const known = sources.get(address);
    const isKnown = known && (known.held > 0 || nowMs - known.lastAtMs < FORGET_AFTER_MS);
    const source = isKnown ? known : { wrong: 0, held: 0, lastAtMs: nowMs };
    source.wrong += 1;
    source.lastAtMs = nowMs;
    sources.delete(address);
    sources.set(address, source);
    if (sources.size > MOST_SOURCES) sources.delete(sources.keys().next().value!);
    return source;
  }

  return {
    async hold(request: Request, response: Response): Promise<void> {
      const address = clientAddress(request);
      if (address === null) return;
      const source = noted(networkOf(address));
      const ms = refusalMs * SHARES[Math.min(source.wrong, SHARES.length) - 1]!;
      if (ms === 0 || held.size >= MOST_HELD || source.held >= MOST_HELD_OF_SOURCE) return;
      source.held += 1;
      await new Promise<void>((resolve) => {
        const release = () => {
          clearTimeout(timer);
          held.delete(release);
          resolve();
        };
        const timer = setTimeout(release, ms);
        held.add(release);
        response.once("close", release);
      });
      source.held -= 1;
    },
    release: (): void => [...held].forEach((each) => each()),
  };
}

/** The IPv4 address, or the first half of an IPv6 address: a provider gives it to one customer for all machines. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [front = "", back] = address.split("::");
  const groups = front === "" ? [] : front.split(":");
  const missing = back === undefined ? 0 : 8 - groups.length - (back === "" ? 0 : back.split(":").length);
  return [...groups, ...Array<string>(missing).fill("0"), ...(back?.split(":") ?? [])].slice(0, 4).join(":");
}
