import { randomBytes, randomUUID } from "node:crypto";
import type { SandboxSettings } from "../settings.ts";
import { type Clock, createClock } from "./clock.ts";
import { createTables, type Tables } from "./tables.ts";

/** The state of one sandbox: its memory, its time, its settings. */
export interface World extends Tables {
  clock: Clock;
  settings: SandboxSettings;
  /** The id of the partner's own OAuth client: may be sent to the token endpoint, and is then checked. */
  partnerClientId: string;
  /** Client secrets that were reset: they are refused with the reason, and masked in the ledger. */
  formerClientSecrets: string[];
}

export function createWorld(settings: SandboxSettings): World {
  return {
    ...createTables(),
    clock: createClock(),
    settings,
    partnerClientId: randomUUID(),
    formerClientSecrets: [],
  };
}

/** The tables of a world, by name. */
export function tablesOf(world: World): Tables {
  const {
    clock: _clock,
    settings: _settings,
    partnerClientId: _id,
    formerClientSecrets: _former,
    ...tables
  } = world;
  return tables;
}

/** Exactly 65 characters, the five of the prefix included ("Limits" of the platform document). */
export function newAccessToken(): string {
  return `SVCK-${randomBytes(45).toString("base64url")}`;
}
