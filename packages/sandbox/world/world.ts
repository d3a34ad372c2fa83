import { randomBytes, randomUUID } from "node:crypto";
import type { SandboxSettings } from "../settings.ts";
import { type Clock, createClock } from "./clock.ts";
import { createTables, type Tables } from "./tables.ts";

/** The state of one sandbox: its records, clock and settings. */
export interface World extends Tables {
  clock: Clock;
  settings: SandboxSettings;
  /** The id of the partner's own OAuth client; a token request may name it, and it is then checked. */
  partnerClientId: string;
  /** Client secrets that were replaced: they are refused with the reason, and masked in the ledger. */
  formerClientSecrets: string[];
  /**
   * The client secret that was given last, at the start or by `PUT /sandbox/partner`: a reset of the sandbox restores
   * it.
   */
  lastGivenClientSecret: string;
}

export function createWorld(settings: SandboxSettings): World {
  return {
    ...createTables(),
    clock: createClock(),
    settings,
    partnerClientId: randomUUID(),
    formerClientSecrets: [],
    lastGivenClientSecret: settings.clientSecret,
  };
}

/** The tables of a world, by name. */
export function tablesOf(world: World): Tables {
  const {
    clock: _clock,
    settings: _settings,
    partnerClientId: _id,
    formerClientSecrets: _former,
    lastGivenClientSecret: _given,
    ...tables
  } = world;
  return tables;
}

/** Exactly 65 characters, including the five of the prefix ("Limits" of the platform document). */
export function newAccessToken(): string {
  return `SVCK-${randomBytes(45).toString("base64url")}`;
}
