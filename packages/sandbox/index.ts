import { setMaxListeners } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createApp } from "./app.ts";
import { createChanges } from "./changes.ts";
import { type Control, createControl } from "./control/control.ts";
import { giveUpOverdue } from "./partner/give-up.ts";
import { createAgents } from "./partner/http.ts";
import { resumeProvisions } from "./partner/resume.ts";
import type { Platform } from "./platform.ts";
import { completeSettings, type SandboxSettings } from "./settings.ts";
import { createFaults } from "./wire/faults.ts";
import { createLedger, type LedgerEntry } from "./wire/ledger.ts";
import { createMasking } from "./wire/masking.ts";
import { openStateFile, type StateFile } from "./world/state-file.ts";
import { createWorld } from "./world/world.ts";

export { exampleOptions, readAddonManifest, type AddonManifest, type AddonPlan } from "./addon-manifest.ts";
export type { Control } from "./control/control.ts";
export type { Delivery } from "./control/deliveries.ts";
export type { InstallWish } from "./control/delivery-wishes.ts";
export type { AddonState, State } from "./control/state.ts";
export type { SandboxSettings } from "./settings.ts";
export type { Fault, FaultAction } from "./wire/fault.ts";
export type { LedgerEntry } from "./wire/ledger.ts";

/** Longer than clients pause between calls, so that a client does not send into a connection that is being closed. */
const KEEP_ALIVE_MS = 75_000;
/** How often overdue provisions are looked for; moving the clock also triggers that. */
const SWEEP_MS = 5000;

export interface Sandbox {
  url: string;
  /**
   * The current settings, including credentials that were generated because none were given. Change them through
   * `control`.
   */
  settings: Readonly<SandboxSettings>;
  control: Control;
  close(): Promise<void>;
}

export interface StartOptions extends Partial<SandboxSettings> {
  /** The public address of the platform, if a proxy stands in front of it; called whenever an address is sent. */
  publicUrl?: () => string;
  /** Called with each call, in either direction, when it ends; secrets are masked. */
  onEntry?: (entry: LedgerEntry) => void;
}

/** Starts a sandbox of the platform, on any free port unless one is given; several can run in one process. */
export async function startSandbox({ onEntry, publicUrl, ...given }: StartOptions = {}): Promise<Sandbox> {
  const settings = completeSettings(given);
  const world = createWorld(settings);
  let stateFile: StateFile | null = null;
  const ledger = createLedger({ size: settings.ledgerSize, masking: createMasking(world), onEntry });
  const changes = createChanges();
  const closing = new AbortController();
  // Every call under way listens to this signal; many listeners are no leak.
  setMaxListeners(0, closing.signal);
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  const platform: Platform = {
    world,
    ledger: {
      ...ledger,
      add(call) {
        ledger.add(call);
        changes.tell();
      },
    },
    faults: createFaults(world.faults, () => platform.changed()),
    url: () => urlOf(server, settings.host),
    publicUrl: () => publicUrl?.() ?? platform.url(),
    agents: createAgents(),
    closing: closing.signal,
    changes,
    changed() {
      stateFile?.changed();
      changes.tell();
    },
  };
  const control = createControl(platform);
  // After the control API is created, which stores the current settings as those that a reset restores.
  if (settings.statePath !== null) stateFile = await openStateFile(settings.statePath, world, given);
  server.on("request", createApp(platform, control));
  await listen(server, settings).catch(async (error: unknown) => {
    await stateFile?.close();
    throw error;
  });
  const sweep = setInterval(() => giveUpOverdue(platform), SWEEP_MS).unref();
  resumeProvisions(platform);

  return {
    url: platform.url(),
    settings,
    control,
    async close() {
      closing.abort();
      clearInterval(sweep);
      platform.agents.http.destroy();
      platform.agents.https.destroy();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await stateFile?.close();
    },
  };
}

function listen(server: Server, { port, host }: SandboxSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  if (host === "0.0.0.0" || host === "::") return `http://localhost:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
