import { randomUUID } from "node:crypto";
import type { AddonRecord, LogDrainRecord } from "./records.ts";
import type { World } from "./world.ts";

const LONGEST_URL = 2048;

/** Where logs can be sent: syslog, plain or over TLS, or http. */
export function isDrainUrl(url: string): boolean {
  const isOfKind = /^(syslog|syslog\+tls|https?):\/\/[^\s/?#\p{Cc}][^\s\p{Cc}]*$/iu.test(url);
  return isOfKind && url.length <= LONGEST_URL && URL.canParse(url) && new URL(url).hostname !== "";
}

/** The token of the drain that an add-on may name in its provision answer, known before there is a drain. */
export function drainTokenOf(addon: AddonRecord): string {
  return `d.${addon.id}`;
}

/** A drain for an app's logs. An add-on that names the same address or token again gets no second one. */
export function addLogDrain(
  world: World,
  drain: Pick<LogDrainRecord, "url" | "addonId" | "appId"> & { token?: string },
): LogDrainRecord {
  const now = world.clock.now();
  const isSame = ({ url, token, addonId }: LogDrainRecord) =>
    (url === drain.url || token === drain.token) && addonId === drain.addonId;
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
