import type { Request, Response } from "express";
import type { Pace } from "../pace.ts";
import { clientAddress } from "./requests.ts";

// A refusal of a wrong password is held back, longer with each one from the same source: who guesses one after the other
// gets few answers. It is bought with open connections, so only so many are held; beyond them an answer goes out at once. A
// right password never comes here, whoever else guesses from its address.

/** A typing error, or a password that has just been changed, is answered at once. */
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

/** `hold` resolves when a wrong password may be refused; `release` lets all go that are held. */
export function createRefusals({ refusalMs }: Pace) {
  const sources = new Map<string, Source>();
  const held = new Set<() => void>();

  /** The source that was seen last stands last, so the first one is forgotten when there are too many. */
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

/** An IPv4 address, or the half of an IPv6 address that one customer of a provider has for all machines. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [front = "", back] = address.split("::");
  const groups = front === "" ? [] : front.split(":");
  const missing = back === undefined ? 0 : 8 - groups.length - (back === "" ? 0 : back.split(":").length);
  return [...groups, ...Array<string>(missing).fill("0"), ...(back?.split(":") ?? [])].slice(0, 4).join(":");
}
