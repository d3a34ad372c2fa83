import { setTimeout as wait } from "node:timers/promises";
import type { FaultAction, Sandbox } from "../sandbox/index.ts";
import type { Customers } from "./customers.ts";
import type { DatabaseProxy, ProxyMode } from "../test/support/database-proxy.ts";
import type { Fleet, Member } from "./fleet.ts";
import type { Effect, History } from "./history.ts";
import type { Random } from "./random.ts";
import type { Rotations } from "./rotations.ts";

/** Something that goes wrong, how often compared to the others, and how it is done. It puts right what it broke. */
interface Trouble {
  name: string;
  weight: number;
  effect?: Effect;
  strike(): Promise<void>;
}

/** Everything that goes wrong by itself, one at a time and at random (catalogue, sections A to G). */
export function createStorm(needs: {
  sandbox: Sandbox;
  fleet: Fleet;
  proxy: DatabaseProxy;
  customers: Customers;
  rotations: Rotations;
  random: Random;
  history: History;
}) {
  const { sandbox, fleet, proxy, customers, rotations, random, history } = needs;
  const { control } = sandbox;

  const goneAsTokensArrive: Trouble = { name: "database gone as tokens arrive", weight: 2, effect: "delay", strike: goAsTokensArrive }; // prettier-ignore
  const troubles: Trouble[] = [
    goneAsTokensArrive,
    { name: "a process killed", weight: 6, strike: () => toMember((member) => fleet.kill(member)) },
    { name: "a process frozen", weight: 3, effect: "delay", strike: () => toMember(freeze) },
    { name: "a process restarted", weight: 3, strike: () => toMember(restart) },
    { name: "database restarted", weight: 2, effect: "delay", strike: async () => proxy.cut() },
    { name: "database refuses", weight: 1, effect: "delay", strike: () => database("refuse", 1_000, 6_000) },
    { name: "database silent", weight: 1, effect: "delay", strike: () => database("black-hole", 1_000, 6_000) },
    { name: "database's replies lost", weight: 1, effect: "delay", strike: () => database("drop-replies", 500, 4_000) },
    { name: "commits unacknowledged", weight: 2, effect: "delay", strike: () => database("cut-after-commit", 500, 4_000) },
    { name: "token endpoint fails", weight: 4, strike: () => platform("POST /oauth/token", FAILURES) },
    { name: "token answers lost", weight: 2, strike: () => platform("POST /oauth/token", LOST_ANSWERS) },
    { name: "platform API fails", weight: 3, strike: () => platform("* /addons/*", FAILURES) },
    { name: "provisions delivered twice", weight: 2, strike: () => platform("> POST /*", [{ duplicate: true }]) },
    { name: "provisions answered into the void", weight: 2, strike: () => platform("> POST /*", [{ reset: "after" }]) },
    { name: "answers registered late", weight: 2, strike: registeredLate },
    { name: "access tokens killed", weight: 3, strike: killTokens },
    { name: "client secret reset", weight: 1, effect: "renewal", strike: rotations.clientSecret },
  ]; // prettier-ignore

  async function toMember(work: (member: Member) => Promise<unknown>): Promise<void> {
    const free = fleet.members.filter(({ child, isFrozen }) => !isFrozen && child.exitCode === null);
    if (free.length > 0) await work(random.one(free));
  }

  async function freeze(member: Member): Promise<void> {
    fleet.freeze(member);
    await wait(random.between(1_000, 15_000));
    fleet.thaw(member);
    // What came meanwhile is read now.
    await wait(2_000);
  }

  async function restart(member: Member): Promise<void> {
    const ended = await fleet.restart(member);
    history.stops.push({ name: member.name, ...ended });
  }

  async function database(mode: ProxyMode, leastMs: number, mostMs: number): Promise<void> {
    proxy.mode(mode);
    await wait(random.between(leastMs, mostMs));
    proxy.mode("ok");
  }

  /** The tokens of new grants find no database: they are held until it is back, or lost. */
  async function goAsTokensArrive(): Promise<void> {
    control.fault("POST /oauth/token", { delayMs: 3_000 }, 1_000);
    await Promise.all([customers.install(), customers.install(), customers.install()]);
    // A grant is exchanged a second after its answer.
    await wait(1_500);
    control.clearFaults();
    await database(random.one(["refuse", "black-hole"]), 3_000, 6_000);
  }

  async function platform(match: string, actions: readonly FaultAction[]): Promise<void> {
    control.fault(match, random.one(actions), Math.ceil(random.between(1, 12)));
    await wait(random.between(1_000, 6_000));
    control.clearFaults();
    await wait(1_000);
  }

  async function registeredLate(): Promise<void> {
    control.settings({ acceptDelayMs: Math.round(random.between(50, 5_000)) });
    await wait(random.between(2_000, 8_000));
    control.settings({ acceptDelayMs: 0 });
  }

  async function killTokens(): Promise<void> {
    for (const uuid of customers.alive().filter(() => random.chance(0.1))) {
      if (control.addon(uuid).tokens.length === 0) continue;
      history.killedTokens.push({ uuid, atMs: Date.now() });
      control.revoke(uuid, "access");
    }
  }

  function byChance(): Trouble {
    const all = troubles.reduce((sum, { weight }) => sum + weight, 0);
    let place = random.between(0, all);
    return troubles.find(({ weight }) => (place -= weight) < 0) ?? troubles[0]!;
  }

  // Chance hardly ever finds the moment in which a grant is lost most easily: the shortest storm begins with it.
  let isFirst = true;
  return async function strike(): Promise<void> {
    const trouble = isFirst ? goneAsTokensArrive : byChance();
    isFirst = false;
    await history.disturbed(trouble.name, trouble.strike, trouble.effect);
  };
}

const FAILURES: readonly FaultAction[] = [
  { status: 503, body: { id: "service_unavailable", message: "Down." } },
  { status: 429, headers: { "Retry-After": "2" }, body: { id: "rate_limit", message: "Too many." } },
  { status: 200, body: "<html>It works!</html>", headers: { "Content-Type": "text/html" } },
  { delayMs: 3_000 },
  { reset: "before" },
];
const LOST_ANSWERS: readonly FaultAction[] = [{ reset: "after" }, { truncate: true }];
