import { randomUUID } from "node:crypto";
import type { LogDrainRecord } from "./records.ts";
import type { World } from "./world.ts";

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
