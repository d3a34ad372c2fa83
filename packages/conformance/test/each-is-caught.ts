import { beforeAll, describe, expect, it } from "@jest/globals";
import type { Verdict } from "../rule.ts";
import type { BrokenService } from "./broken/break.ts";
import { atATime, falselyBlamed, faultsIn, judgedBroken } from "./judged.ts";

/** They mostly wait; more at once would be late for what they must do in time. */
const AT_A_TIME = 4;

/** Declares the tests of these services: each fault must fail the rule that it names, and no other. */
export function eachIsCaught(where: string, services: Record<string, BrokenService>): void {
  const names = Object.keys(services);
  const faults = Object.entries(services).flatMap(([service, breaks]) =>
    breaks.map(({ rule, what }) => ({ service, rule, what })),
  );

  let found: Map<string, Verdict[]>;
  beforeAll(async () => {
    found = await atATime(AT_A_TIME, names, (name) => judgedBroken(services[name]!));
  }, 900_000);

  describe(`conformance of a service with a fault in ${where}`, () => {
    it.each(faults)("fails $rule: $what", ({ service, rule }) => {
      expect([...faultsIn(found.get(service)!).keys()]).toContain(rule);
    });

    it.each(names)("fails no other rule: %s", (name) => {
      const named = services[name]!.flatMap(({ rule, also = [] }) => [rule, ...also]);
      const others = [...faultsIn(found.get(name)!)].filter(([rule]) => !named.includes(rule));
      expect(others).toEqual([]);
    });

    it.each(names)("names a rule that is broken where it skips one: %s", (name) => {
      expect(falselyBlamed(found.get(name)!)).toEqual([]);
    });
  });
}
