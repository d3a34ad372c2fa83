import { randomUUID } from "node:crypto";
import type { AppRecord, DomainRecord } from "./records.ts";
import type { World } from "./world.ts";

/** The platform's own host name of an app: its name and a part that makes the address hard to guess. */
export function platformHost({ id, name }: AppRecord): string {
  return `${name}-${id.replaceAll("-", "").slice(-12)}.platform-apps.example.com`;
}

/** Adds the platform's host name of a new app, and a custom one of its owner. */
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

/** A domain's current host name: the platform's own follows the app's name. */
export function hostnameOf(domain: DomainRecord, app: AppRecord): string {
  return domain.hostname ?? platformHost(app);
}
