import { setTimeout as wait } from "node:timers/promises";
import type { Delivery, Sandbox } from "../sandbox/index.ts";
import type { History } from "./history.ts";
import type { Random } from "./random.ts";

const PLANS = ["basic", "premium", "dedicated"];
/** The platform delivers at least once: so often, where it got no answer. */
const DELIVERIES = 4;
/** So often a customer tries what went wrong. */
const TRIES = 10;

export interface Customers {
  /** One thing that a customer does, chosen at random. Never rejects for what the service does. */
  act(): Promise<void>;
  install(): Promise<void>;
  /** Resources that were acknowledged and not deprovisioned. */
  alive(): string[];
}

/** The platform's customers: they install, change plans and uninstall, and the platform repeats what went unanswered. */
export function createCustomers({ control }: Sandbox, random: Random, history: History): Customers {
  const alive = () => [...history.acknowledged].filter((uuid) => !history.deprovisioned.has(uuid));
  // Of one resource the platform sends the next plan change when the last one is answered, and uninstalls once.
  const changing = new Set<string>();
  const leaving = new Set<string>();

  async function install(): Promise<void> {
    history.count("installs");
    let delivery = await control.install({ plan: random.one(PLANS) });
    for (let tries = 1; delivery.response.status === null && tries < DELIVERIES; tries++) {
      await wait(random.between(200, 2_000));
      history.count("redeliveries");
      delivery = await control.redeliver(delivery.addon.id, { newCode: random.chance(0.3) });
    }
    const { status } = delivery.response;
    if (status === null) return history.count("installs never answered");
    if (!isSuccess(status)) return history.count("installs refused");
    history.acknowledged.add(delivery.addon.id);
    // A customer who changes her mind at once meets the exchange under way.
    if (random.chance(0.15)) {
      await wait(random.between(0, 1_500));
      await uninstall(delivery.addon.id);
    }
  }

  /** Sends until there is an answer, and not one that says "not now"; null: there never was. */
  async function untilAnswered(uuid: string, send: (last: number | null) => Promise<Delivery>): Promise<number | null> {
    let status: number | null = null;
    for (let tries = 1; tries <= TRIES; tries++) {
      ({ status } = (await send(status)).response);
      if (status !== null && status < 500) return status;
      await wait(random.between(200, 2_000));
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
    // A code that was answered with anything but success is dead.
    await untilAnswered(uuid, (last) =>
      control.redeliver(uuid, { newCode: last !== null || random.chance(0.5) }),
    );
  }

  /** Something done to one resource; now and then, as the platform may well send them, two things at once. */
  async function toOne(work: (uuid: string) => Promise<void>): Promise<void> {
    const all = alive();
    if (all.length === 0) return;
    const uuid = random.one(all);
    const beside = random.chance(0.25) ? random.one([changePlan, redeliver]) : null;
    await Promise.all([work(uuid), wait(random.between(0, 100)).then(() => beside?.(uuid))]);
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
