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
  /** The address that the platform gives to others. */
  publicUrl(): string;
  agents: { http: HttpAgent; https: HttpsAgent };
  /** Aborted when the sandbox closes: nothing may keep waiting after that. */
  closing: AbortSignal;
  /** Notifies watchers. */
  changes: Changes;
  /** Must be called after every change that has to survive a restart. */
  changed(): void;
}
