import { setTimeout as sleep } from "node:timers/promises";
import type { Delivery, Sandbox } from "../../packages/sandbox/index.ts";
import type { History } from "./history.ts";
import type { Random } from "./random.ts";

const PLANS = ["basic", "premium", "dedicated"];
/** The platform delivers at least once: without an answer, it delivers a provision up to this many times. */
const DELIVERIES = 4;
/** How often a customer tries a call that fails. */
const TRIES = 10;

export interface Customers {
  /** Does one random thing that a customer does. Never rejects because of what the service does. */
  act(): Promise<void>;
  install(): Promise<void>;
  /** The resources that were acknowledged and not deprovisioned. */
  alive(): string[];
}

/**
 * The platform's customers: they install, change plans and uninstall. The platform repeats calls that got no answer.
 */
export function createCustomers({ control }: Sandbox, random: Random, history: History): Customers {
  const alive = () => [...history.acknowledged].filter((uuid) => !history.deprovisioned.has(uuid));
  // For each resource, the platform sends a plan change only when the last one was answered, and uninstalls once.
  const changing = new Set<string>();
  const leaving = new Set<string>();

  async function install(): Promise<void> {
    history.count("installs");
    let delivery = await control.install({ plan: random.one(PLANS) });
    for (let tries = 1; delivery.response.status === null && tries < DELIVERIES; tries++) {
      await sleep(random.between(200, 2_000));
      history.count("redeliveries");
      delivery = await control.redeliver(delivery.addon.id, { newCode: random.chance(0.3) });
    }
    const { status } = delivery.response;
    if (status === null) return history.count("installs never answered");
    if (!isSuccess(status)) return history.count("installs refused");
    history.acknowledged.add(delivery.addon.id);
    // A customer who uninstalls at once meets the exchange in progress.
    if (random.chance(0.15)) {
      await sleep(random.between(0, 1_500));
      await uninstall(delivery.addon.id);
    }
  }

  /** Sends until there is an answer below 500. Answers its status; null if there never was one. */
  async function untilAnswered(uuid: string, send: (last: number | null) => Promise<Delivery>): Promise<number | null> {
    let status: number | null = null;
    for (let tries = 1; tries <= TRIES; tries++) {
      ({ status } = (await send(status)).response);
      if (status !== null && status < 500) return status;
      await sleep(random.between(200, 2_000));
    }
    history.unheard.add(uuid);
    return null;
  } // prettier-ignore

  async function changePlan(uuid: string): Promise<void> {
    if (changing.has(uuid)) return;
    changing.add(uuid);
    history.count("plan changes");
    const plan = random.one(PLANS);
    await untilAnswered(uuid, () => control.changePlan(uuid, plan));
    changing.delete(uuid);
  }

  async function uninstall(uuid: string): Promise<void> {
    if (leaving.has(uuid)) return;
    leaving.add(uuid);
    history.count("uninstalls");
    const status = await untilAnswered(uuid, () => control.deprovision(uuid));
    if (status === 204 || status === 410) history.deprovisioned.add(uuid);
  }

  async function redeliver(uuid: string): Promise<void> {
    history.count("redeliveries");
    // A code whose provision was not answered with success is dead.
    await untilAnswered(uuid, (last) =>
      control.redeliver(uuid, { newCode: last !== null || random.chance(0.5) }),
    );
  }

  /** Does something to one resource; now and then two things at once, as the platform may send them. */
  async function toOne(work: (uuid: string) => Promise<void>): Promise<void> {
    const all = alive();
    if (all.length === 0) return;
    const uuid = random.one(all);
    const beside = random.chance(0.25) ? random.one([changePlan, redeliver]) : null;
    await Promise.all([work(uuid), sleep(random.between(0, 100)).then(() => beside?.(uuid))]);
  }

  return {
    alive,
    install,
    act() {
      const choice = random.next();
      if (choice < 0.55) return install();
      if (choice < 0.8) return toOne(changePlan);
      return toOne(choice < 0.9 ? uninstall : redeliver);
    },
  };
}

function isSuccess(status: number): boolean {
  return status === 200 || status === 202;
}
