import { isoTime } from "../world/clock.ts";
import { hostnameOf } from "../world/domains.ts";
import type { DomainRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { reference } from "./reference.ts";

/** A domain as the API shows it (assumed, section 5). */
export function domainShape(world: World, domain: DomainRecord) {
  const app = world.apps.get(domain.appId)!;
  const hostname = hostnameOf(domain, app);
  return {
    id: domain.id,
    hostname,
    kind: domain.kind,
    cname: domain.kind === "custom" ? `${hostname}.dns.platform-apps.example.com` : null,
    status: "succeeded",
    acm_status: null,
    acm_status_reason: null,
    sni_endpoint: null,
    app: reference(app),
    created_at: isoTime(domain.createdAt),
    updated_at: isoTime(domain.kind === "custom" ? domain.createdAt : app.updatedAt),
  };
}
