import { setTimeout as sleep } from "node:timers/promises";
import type { FaultAction, Sandbox } from "../../packages/sandbox/index.ts";
import type { DatabaseProxy, ProxyMode } from "../../test/support/database-proxy.ts";
import type { Customers } from "./customers.ts";
import type { Fleet, Member } from "./fleet.ts";
import { during, type History } from "./history.ts";
import type { Random } from "./random.ts";
import type { Rotations } from "./rotations.ts";

/** A kind of fault, its frequency relative to the others, and how to cause it. `strike` also repairs what it broke. */
interface Trouble {
  name: string;
  weight: number;
  strike(): Promise<void>;
}

/** More calls than there can be. */
const EVERY_CALL = 1_000_000;

export interface Storm {
  /** Causes the next fault. Resolves when it is over, except that a process may stay frozen beyond it. */
  strike(): Promise<void>;
  /** Resolves when nothing is frozen any more. */
  over(): Promise<unknown>;
}

/**
 * Everything that goes wrong by itself, one at a time and at random (catalogue, sections A to G). `order` decides the
 * sequence of faults and nothing else, so that its seed repeats that; the details of each depend on what it meets.
 */
export function createStorm(needs: {
  sandbox: Sandbox;
  fleet: Fleet;
  proxy: DatabaseProxy;
  customers: Customers;
  rotations: Rotations;
  order: Random;
  random: Random;
  history: History;
}): Storm {
  const { sandbox, fleet, proxy, customers, rotations, order, random, history } = needs;
  const { control } = sandbox;

  const goneAsTokensArrive: Trouble = { name: "database gone as tokens arrive", weight: 2, strike: goAsTokensArrive }; // prettier-ignore
  const troubles: Trouble[] = [
    goneAsTokensArrive,
    { name: "a process killed", weight: 6, strike: () => toMember((member) => fleet.kill(member)) },
    { name: "a process frozen", weight: 3, strike: () => toMember((member) => freeze(member, 1_000, 15_000)) },
    { name: "a process frozen beyond its leases", weight: 1, strike: freezeBeside },
    { name: "a process restarted", weight: 3, strike: () => toMember(restart) },
    { name: "database restarted", weight: 2, strike: () => during(history.databaseTroubles, async () => proxy.cut()) },
    { name: "database refuses", weight: 1, strike: () => database("refuse", 1_000, 6_000) },
    { name: "database silent", weight: 1, strike: () => database("black-hole", 1_000, 6_000) },
    { name: "database's replies lost", weight: 1, strike: () => database("drop-replies", 500, 4_000) },
    { name: "commits unacknowledged", weight: 2, strike: () => database("cut-after-commit", 500, 4_000) },
    { name: "token endpoint fails", weight: 4, strike: () => outage("POST /oauth/token") },
    { name: "token answers lost", weight: 2, strike: () => few("POST /oauth/token", LOST_ANSWERS) },
    { name: "platform API fails", weight: 3, strike: () => outage("* /addons/*") },
    { name: "provisions delivered twice", weight: 2, strike: () => few("> POST /*", [{ duplicate: true }]) },
    { name: "provisions answered into the void", weight: 2, strike: () => few("> POST /*", [{ reset: "after" }]) },
    { name: "answers registered late", weight: 2, strike: registeredLate },
    { name: "access tokens killed", weight: 3, strike: killTokens },
    { name: "client secret reset", weight: 1, strike: () => during(history.renewals, rotations.clientSecret) },
  ]; // prettier-ignore

  async function toMember(work: (member: Member) => Promise<unknown>): Promise<void> {
    const free = fleet.members.filter(
      ({ child, isFrozen, isEnding }) =>
        !isFrozen && !isEnding && child.exitCode === null && child.signalCode === null,
    );
    if (free.length > 0) await work(random.one(free));
  }

  async function freeze(member: Member, leastMs: number, mostMs: number): Promise<void> {
    fleet.freeze(member);
    await sleep(random.between(leastMs, mostMs));
    fleet.thaw(member);
    // The process now reads what arrived meanwhile.
    await sleep(2_000);
  }

  /** Freezes a process for so long that others take over its leases, while the other faults go on. */
  let frozen: Promise<unknown> = Promise.resolve();
  async function freezeBeside(): Promise<void> {
    await toMember(async (member) => {
      frozen = Promise.all([frozen, freeze(member, 50_000, 70_000)]);
    });
  }

  async function restart(member: Member): Promise<void> {
    const ended = await fleet.restart(member);
    history.stops.push({ name: member.name, ...ended });
  }

  function database(mode: ProxyMode, leastMs: number, mostMs: number): Promise<void> {
    return during(history.databaseTroubles, async () => {
      proxy.mode(mode);
      await sleep(random.between(leastMs, mostMs));
      proxy.mode("ok");
    });
  }

  /** Takes the database away when the tokens of new grants arrive: they must be held until it is back. */
  async function goAsTokensArrive(): Promise<void> {
    control.fault("POST /oauth/token", { delayMs: 3_000 }, EVERY_CALL);
    await Promise.all([customers.install(), customers.install(), customers.install()]);
    // A grant is exchanged a second after its answer.
    await sleep(1_500);
    control.clearFaults();
    await database(random.one(["refuse", "black-hole"]), 3_000, 6_000);
  }

  /** Fails a few calls; or all for some seconds; or, now and then, all for so long that the service backs off. */
  async function outage(match: string): Promise<void> {
    if (random.chance(0.4)) return few(match, FAILURES);
    const ms = random.chance(0.2) ? random.between(30_000, 60_000) : random.between(1_000, 6_000);
    await fault(match, FAILURES, EVERY_CALL, ms);
  }

  function few(match: string, actions: readonly FaultAction[]): Promise<void> {
    return fault(match, actions, Math.ceil(random.between(1, 12)), random.between(1_000, 6_000));
  }

  async function fault(match: string, actions: readonly FaultAction[], times: number, ms: number): Promise<void> {
    control.fault(match, random.one(actions), times);
    await sleep(ms);
    control.clearFaults();
    await sleep(1_000);
  } // prettier-ignore

  async function registeredLate(): Promise<void> {
    control.settings({ acceptDelayMs: Math.round(random.between(50, 5_000)) });
    await sleep(random.between(2_000, 8_000));
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
    let place = order.between(0, all);
    return troubles.find(({ weight }) => (place -= weight) < 0) ?? troubles[0]!;
  }

  // Chance would hardly ever hit the moment in which a grant is lost most easily, so every storm begins with it.
  let isFirst = true;
  return {
    async strike() {
      const trouble = isFirst ? goneAsTokensArrive : byChance();
      isFirst = false;
      history.count(trouble.name);
      await trouble.strike();
    },
    over: () => frozen,
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
