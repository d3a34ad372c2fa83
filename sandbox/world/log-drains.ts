import { randomUUID } from "node:crypto";
import type { LogDrainRecord } from "./records.ts";
import type { World } from "./world.ts";

const LONGEST_URL = 2048;

/** Where logs can be sent: syslog, plain or over TLS, or http. */
export function isDrainUrl(url: string): boolean {
  const isOfKind = /^(syslog|syslog\+tls|https?):\/\/[^\s/?#\p{Cc}][^\s\p{Cc}]*$/iu.test(url);
  return isOfKind && url.length <= LONGEST_URL && URL.canParse(url) && new URL(url).hostname !== "";
}

/** A drain for an app's logs. An add-on that names the same address again gets no second one. */
export function addLogDrain(
  world: World,
  drain: { url: string; addonId: string | null; appId: string },
): LogDrainRecord {
  const now = world.clock.now();
  const isSame = ({ url, addonId }: LogDrainRecord) => url === drain.url && addonId === drain.addonId;
  const known = world.logDrains.of("app", drain.appId).find(isSame);
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
