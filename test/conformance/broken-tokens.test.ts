import { beforeAll, describe, expect, it } from "@jest/globals";
import type { BrokenService } from "./broken/break.ts";
import * as tokens from "./broken/tokens.ts";
import { atATime, brokenRules } from "./judged.ts";

const services: Record<string, BrokenService> = { ...tokens };
const faults = Object.entries(services).flatMap(([service, breaks]) =>
  breaks.map(({ rule, what }) => ({ service, rule, what })),
);

/** The rules that each service breaks, with what is said about it. */
let found: Map<string, Map<string, string | null>>;
beforeAll(async () => {
  found = await atATime(4, Object.keys(services), (name) => brokenRules(services[name]!));
}, 240_000);

describe("a service with a fault in what it asks of the platform", () => {
  it.each(faults)("is caught by $rule: $what", ({ service, rule }) => {
    expect([...found.get(service)!.keys()]).toContain(rule);
  });

  it.each(Object.keys(services).filter((name) => !name.startsWith("hurried")))(
    "breaks no other rule: %s",
    (name) => {
      const named = services[name]!.flatMap(({ rule, also = [] }) => [rule, ...also]);
      const others = [...found.get(name)!].filter(([rule]) => !named.includes(rule));
      expect(others).toEqual([]);
    },
  );
});
