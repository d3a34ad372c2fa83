import { randomUUID } from "node:crypto";
import type { AppRecord, DomainRecord } from "./records.ts";
import type { World } from "./world.ts";

/** The platform's own host of an app: its name, and what keeps the address from being guessed. */
export function platformHost({ id, name }: AppRecord): string {
  return `${name}-${id.replaceAll("-", "").slice(-12)}.platform-apps.example.com`;
}

/** The platform's host of a new app, and one of its owner's. */
export function addDomains(world: World, { id: appId, name, createdAt }: AppRecord): void {
  world.domains.add({ id: randomUUID(), appId, kind: "platform", hostname: null, createdAt });
  world.domains.add({
    id: randomUUID(),
    appId,
    kind: "custom",
    hostname: `www.${name}.example.com`,
    createdAt,
  });
}

/** A domain's host as it is now: the platform's follows the app's name. */
export function hostnameOf(domain: DomainRecord, app: AppRecord): string {
  return domain.hostname ?? platformHost(app);
}
