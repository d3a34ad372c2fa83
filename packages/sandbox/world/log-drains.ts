import { randomUUID } from "node:crypto";
import type { AddonRecord, LogDrainRecord } from "./records.ts";
import type { World } from "./world.ts";

const LONGEST_URL = 2048;

/** Whether logs can be sent to a URL: syslog, plain or over TLS, or http(s). */
export function isDrainUrl(url: string): boolean {
  const isOfKind = /^(syslog|syslog\+tls|https?):\/\/[^\s/?#\p{Cc}][^\s\p{Cc}]*$/iu.test(url);
  return isOfKind && url.length <= LONGEST_URL && URL.canParse(url) && new URL(url).hostname !== "";
}

/** The token of the drain that an add-on may name in its provision answer, known before the drain exists. */
export function drainTokenOf(addon: AddonRecord): string {
  return `d.${addon.id}`;
}

/** Adds a log drain to an app. If the add-on already has one with the same URL or token there, returns that one. */
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
