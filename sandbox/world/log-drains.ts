import { randomUUID } from "node:crypto";
import type { LogDrainRecord } from "./records.ts";
import type { World } from "./world.ts";

const LONGEST_URL = 2048;

/** Where logs can be sent: syslog, plain or over TLS, or http. */
export function isDrainUrl(url: string): boolean {
  const isOfKind = /^(syslog|syslog\+tls|https?):\/\/[^\s/?#\p{Cc}][^\s\p{Cc}]*$/iu.test(url);
  return isOfKind && url.length <= LONGEST_URL && URL.canParse(url) && new URL(url).hostname !== "";
}

/** A drain for an app's logs; the same address is not added to one app twice. */
export function addLogDrain(
  world: World,
  drain: { url: string; addonId: string | null; appId: string },
): LogDrainRecord {
  const now = world.clock.now();
  const known = world.logDrains.of("app", drain.appId).find(({ url }) => url === drain.url);
  return (
    known ??
    world.logDrains.add({
      id: randomUUID(),
      token: `d.${randomUUID()}`,
      ...drain,
      createdAt: now,
      updatedAt: now,
    })
  );
}
