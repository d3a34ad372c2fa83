import { setTimeout as wait } from "node:timers/promises";
import type { Sandbox } from "../sandbox/index.ts";
import type { History } from "./history.ts";
import type { Random } from "./random.ts";

const PLANS = ["basic", "premium", "dedicated"];
/** The platform delivers at least once: so often, where it got no answer. */
const DELIVERIES = 4;

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
  const busy = new Set<string>();

  async function install(): Promise<void> {
    history.count("installs");
    let delivery = await control.install({ plan: random.one(PLANS) });
    for (let tries = 1; delivery.response.status === null && tries < DELIVERIES; tries++) {
      await wait(random.between(200, 2_000));
      history.count("redeliveries");
      delivery = await control.redeliver(delivery.addon.id, { newCode: random.chance(0.3) });
    }
    if (!isSuccess(delivery.response.status)) return history.count("installs without success");
    history.acknowledged.add(delivery.addon.id);
    // A customer who changes her mind at once meets the exchange under way.
    if (random.chance(0.15)) {
      await wait(random.between(0, 1_500));
      await uninstall(delivery.addon.id);
    }
  }

  /** Something done to one resource that nobody else is at. */
  async function toOne(work: (uuid: string) => Promise<void>): Promise<void> {
    const free = alive().filter((uuid) => !busy.has(uuid));
    if (free.length === 0) return;
    const uuid = random.one(free);
    busy.add(uuid);
    await work(uuid).finally(() => busy.delete(uuid));
  }

  async function changePlan(uuid: string): Promise<void> {
    history.count("plan changes");
    await control.changePlan(uuid, random.one(PLANS));
  }

  async function uninstall(uuid: string): Promise<void> {
    history.count("uninstalls");
    let { response } = await control.deprovision(uuid);
    for (let tries = 1; response.status !== 204 && response.status !== 410 && tries < 10; tries++) {
      await wait(random.between(200, 2_000));
      ({ response } = await control.deprovision(uuid));
    }
    if (response.status === 204 || response.status === 410) history.deprovisioned.add(uuid);
    // Whether a deprovision that was never answered took effect, only the database can say.
    else history.acknowledged.delete(uuid);
  }

  async function redeliver(uuid: string): Promise<void> {
    history.count("redeliveries");
    await control.redeliver(uuid, { newCode: random.chance(0.5) });
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

function isSuccess(status: number | null): boolean {
  return status === 200 || status === 202;
}
