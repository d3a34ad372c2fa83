import { giveUpOverdue } from "../partner/give-up.ts";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { type BehaviourSettings, defaultBehaviour, type PartnerSettings } from "../settings.ts";
import { appShape } from "../shapes/app.ts";
import { attachmentShape } from "../shapes/attachment.ts";
import type { Fault, FaultAction } from "../wire/fault.ts";
import type { LedgerQuery } from "../wire/ledger-query.ts";
import { addApp, type AppWish, renameApp } from "../world/apps.ts";
import { attach, configVarsOf } from "../world/attachments.ts";
import { giveClientSecret, restoreClientSecret } from "../world/client-secret.ts";
import { addClient } from "../world/clients.ts";
import { tablesOf } from "../world/world.ts";
import { awaitLedger } from "./await-ledger.ts";
import { findAddon, findApp } from "./find.ts";
import { checkBehaviour, checkPartner } from "./setting-changes.ts";
import { addonState, shownSettings, stateOf } from "./state.ts";

/** The last year that fits the timestamps, which have four digits for it. */
const LAST_MOMENT = Date.UTC(9999, 0);

/** Requests about the sandbox itself: its state, clock, faults and settings. */
export function createWorldControl(platform: Platform) {
  const { world, ledger, faults } = platform;
  const initialBehaviour = Object.fromEntries(
    Object.keys(defaultBehaviour).map((name) => [name, world.settings[name as keyof BehaviourSettings]]),
  );

  return {
    /**
     * Forgets everything except who the partner is: its settings, with the client secret that was given last (even if
     * it was reset since), and its own OAuth clients.
     */
    reset(): void {
      const ownClients = world.clients.all().filter(({ isPartners }) => isPartners);
      for (const table of Object.values(tablesOf(world))) table.clear();
      for (const client of ownClients) addClient(world, client);
      restoreClientSecret(world);
      world.clock.set(0);
      Object.assign(world.settings, initialBehaviour);
      ledger.clear();
      platform.changed();
    },

    state: () => stateOf(world),

    /** One add-on with its grant and tokens. */
    addon: (id: string) => addonState(world, findAddon(world, id)),

    ledger: (query?: LedgerQuery) => ledger.read(query),

    /**
     * The same, as soon as there is an entry: of a call that has ended, or within `waitMs`. Without one it is empty, also
     * after `signal` was aborted or the sandbox closed.
     */
    awaitLedger: (query: LedgerQuery, waitMs: number, signal: AbortSignal) =>
      awaitLedger(platform, query, waitMs, signal),

    /** An app as a customer would create it. */
    createApp(wish: AppWish = {}) {
      const app = addApp(world, wish);
      platform.changed();
      return appShape(world, app);
    },

    /** Renames an app; everything that names it shows the new name at once. */
    renameApp(app: string, name: string) {
      const renamed = renameApp(world, findApp(world, app), name);
      platform.changed();
      return appShape(world, renamed);
    },

    /** The config vars that an app would run with. */
    configVars: (app: string) => configVarsOf(world, findApp(world, app)),

    attach(id: string, wish: { app: string; name?: string }) {
      const attachment = attach(world, findAddon(world, id), findApp(world, wish.app), wish.name);
      platform.changed();
      return attachmentShape(world, attachment);
    },

    /** Moves the sandbox's clock, not the service's. */
    advanceClock(seconds: number): { now: string } {
      const then = world.clock.now() + seconds * 1000;
      if (!(then >= 0 && then <= LAST_MOMENT))
        throw invalid("advance must lead to a year from 1970 to 9999.");
      world.clock.advance(seconds);
      giveUpOverdue(platform);
      platform.changed();
      return { now: new Date(world.clock.now()).toISOString() };
    },

    /** The next `times` calls that match get the action; a leading `>` means calls to the service. */
    fault(match: string, action: FaultAction, times = 1): Fault {
      const fault = faults.add({ match, times, action });
      platform.changed();
      return fault;
    },

    faults: () => faults.pending(),

    clearFaults(): void {
      faults.clear();
      platform.changed();
    },

    /** Changes how the platform behaves; without changes, only returns the settings. */
    settings(changes: Partial<BehaviourSettings> = {}) {
      Object.assign(world.settings, checkBehaviour(changes));
      platform.changed();
      return shownSettings(world);
    },

    /** Changes the partner's settings, such as its address. */
    partner(changes: Partial<PartnerSettings>) {
      const { clientSecret, ...others } = checkPartner(changes);
      if (clientSecret !== undefined) giveClientSecret(world, clientSecret);
      Object.assign(world.settings, others);
      platform.changed();
      return shownSettings(world);
    },
  };
}
