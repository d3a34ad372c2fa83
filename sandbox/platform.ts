import type { Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { Changes } from "./changes.ts";
import type { Faults } from "./wire/faults.ts";
import type { Ledger } from "./wire/ledger.ts";
import type { World } from "./world/world.ts";

/** The parts of one running sandbox, as its routes and its calls to the partner need them. */
export interface Platform {
  world: World;
  ledger: Ledger;
  faults: Faults;
  /** The sandbox's own address, known once it listens. */
  url(): string;
  /** The address that others are told. */
  publicUrl(): string;
  agents: { http: HttpAgent; https: HttpsAgent };
  /** Aborted when the sandbox closes: nothing it waits for may outlive it. */
  closing: AbortSignal;
  /** For those who look on. */
  changes: Changes;
  /** To be called after anything that a restart must remember. */
  changed(): void;
}
