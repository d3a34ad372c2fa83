import type { Case } from "./provision-cases.ts";
import type { Sent } from "./send.ts";

/** The processor time of a case, in multiples (`times`) of the usual request's. */
export interface Cost {
  mutations: string[];
  bytes: number;
  times: number;
}

/** Compares the processor time of requests with that of the usual request in the same run. */
export function createEffort() {
  const usual: number[] = [];
  let dearest: { each: Case; cpuMs: number }[] = [];
  const usualMs = () => [...usual].sort((a, b) => a - b)[Math.floor(usual.length / 2)]!;

  return {
    usual: ({ cpuMs }: Sent) => void usual.push(cpuMs),

    note(each: Case, { cpuMs }: Sent): void {
      dearest.push({ each, cpuMs });
      dearest = dearest.sort((a, b) => b.cpuMs - a.cpuMs).slice(0, 10);
    },

    /** Sends the most expensive cases again: an accident, such as a garbage collection, does not repeat. */
    async verify(send: (each: Case) => Promise<Sent>): Promise<void> {
      for (const one of dearest) {
        const again = [await send(one.each), await send(one.each)].map(({ cpuMs }) => cpuMs);
        one.cpuMs = Math.min(one.cpuMs, ...again);
      }
    },

    report(): { usualMs: number; dearest: Cost[] } {
      const costs = dearest.map(({ each: { mutations, bytes }, cpuMs }) => ({
        mutations,
        bytes: bytes.length,
        times: cpuMs / usualMs(),
      }));
      return { usualMs: usualMs(), dearest: costs.sort((a, b) => b.times - a.times) };
    },
  };
}
