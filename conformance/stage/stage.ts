import { type Sandbox, startSandbox } from "../../sandbox/index.ts";
import type { Settings } from "../settings.ts";
import { createBooks, type Books, type Call } from "./books.ts";
import { openFront } from "./front.ts";
import { createServiceLine, openRelay, type Delivery, type Resource } from "./relay.ts";
import type { Script } from "./script.ts";
import { createServiceCalls, type ServiceCalls } from "./service-calls.ts";
import { createTurns } from "./turns.ts";

export type { Call } from "./books.ts";
export type { Delivery, Resource } from "./relay.ts";

/** What is installed, and how the platform treats it. */
export interface InstallWish extends Script {
  plan?: string;
  region?: string;
  options?: Record<string, unknown>;
}

/** The platform, played to one service: what rules make use of. */
export interface Stage {
  settings: Settings;
  books: Books;
  /** The platform's address, as the service has to be told. */
  platformUrl: string;
  /** Calls to the service that the sandbox does not make: malformed ones, and those of strangers. */
  service: ServiceCalls;
  /** Sends the provision request of a new resource, with a real grant; returns with the answer. */
  install(wish?: InstallWish): Promise<Resource>;
  redeliver(resource: Resource, wish?: { newCode?: boolean; plan?: string }): Promise<Delivery>;
  changePlan(resource: Resource, plan: string): Promise<Delivery>;
  deprovision(resource: Resource): Promise<Delivery>;
  callsOf(resource: Resource): Call[];
  /** Learnt from the service's first call to the token endpoint where nobody told us. */
  isSecretKnown(): boolean;
  /** Takes down what was installed, and the platform. */
  close(): Promise<void>;
}

export async function openStage(settings: Settings): Promise<Stage> {
  const books = createBooks();
  const resources = new Map<string, Resource>();
  const scripts = { get: (uuid: string) => resources.get(uuid)?.script } as ReadonlyMap<string, Script>;
  const line = createServiceLine(books, settings.url);
  const relay = await openRelay({ books, resources, call: line });
  const sandbox = await startSandbox(partnerOf(settings, relay.url));
  const { control } = sandbox;
  let secret = settings.clientSecret;
  const front = await openFront({
    ...{ books, scripts, port: settings.platformPort, host: settings.platformHost },
    sandboxUrl: () => sandbox.url,
    onSecret(given) {
      if (secret !== null) return;
      secret = given;
      control.partner({ clientSecret: given });
    },
  }).catch(async (error: unknown) => {
    await Promise.all([relay.close(), sandbox.close()]);
    throw error;
  });
  const turns = createTurns();

  /** Until then the platform has not taken notice of the answer, and no grant of it works. */
  async function settled(resource: Resource, delivery: Promise<unknown>): Promise<Delivery> {
    await delivery;
    for (const code of books.codes.values())
      if (code.uuid === resource.uuid) code.isSettled = code.isAnswered;
    books.changed();
    return resource.deliveries.at(-1)!;
  }

  return {
    settings,
    books,
    platformUrl: front.url,
    service: createServiceCalls(settings, line),
    async install({ plan = settings.plan, region = settings.region, options = {}, ...script } = {}) {
      // One after the other until it is on its way: only then is its uuid known.
      const { resource, delivery } = await turns(async () => {
        const arrival = relay.expect(script);
        const delivery = control.install({ plan, region, options, force: true });
        const failed = delivery.then(() =>
          Promise.reject(new Error("The sandbox sent no provision request.")),
        );
        return { resource: await Promise.race([arrival, failed]), delivery };
      });
      await settled(resource, delivery);
      return resource;
    },
    redeliver: (resource, wish = {}) => settled(resource, control.redeliver(resource.uuid, wish)),
    changePlan: (resource, plan) =>
      settled(resource, control.changePlan(resource.uuid, plan, { force: true })),
    deprovision: (resource) => settled(resource, control.deprovision(resource.uuid)),
    callsOf: ({ uuid }) => books.calls.filter((call) => call.uuid === uuid),
    isSecretKnown: () => settings.clientSecret !== null,
    async close() {
      await takeDown(sandbox, [...resources.values()]);
      await front.close();
      await sandbox.close();
      await relay.close();
    },
  };
}

function partnerOf(settings: Settings, relayUrl: string): Parameters<typeof startSandbox>[0] {
  const { addonId, addonPassword, clientSecret, ssoSalt, resourcesPath } = settings;
  const known = { addonId, addonPassword, ssoSalt, resourcesPath };
  return { ...known, ...(clientSecret !== null && { clientSecret }), partnerUrl: relayUrl };
}

/** Nothing is left behind at the service. */
async function takeDown({ control }: Sandbox, resources: readonly Resource[]): Promise<void> {
  const living = control.state().addons.filter(({ state }) => state !== "deprovisioned");
  const isUp = new Set(living.map(({ id }) => id));
  const left = resources.filter(({ uuid }) => isUp.has(uuid));
  await Promise.all(left.map(({ uuid }) => control.deprovision(uuid).catch(() => undefined)));
}
