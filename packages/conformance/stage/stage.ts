import { exampleOptions, startSandbox } from "../../sandbox/index.ts";
import type { Settings } from "../settings.ts";
import type { Wait } from "../waiting.ts";
import { type Books, type Call, createBooks } from "./books.ts";
import { openFront } from "./front.ts";
import { createInventory, MUTE_AFTER } from "./inventory.ts";
import { createServiceLine, type Delivery, openRelay, type Resource } from "./relay.ts";
import type { Script } from "./script.ts";
import { basic, createServiceCalls, MEDIA_TYPE, type ServiceCalls } from "./service-calls.ts";
import { createTurns } from "./turns.ts";
import { callsOfRule, type Outgoing, type Reply, send } from "./wire.ts";

export type { Call } from "./books.ts";
export type { Delivery, Resource } from "./relay.ts";

/** What to install, and how the platform treats it. */
export interface InstallWish extends Script {
  plan?: string;
  region?: string;
  options?: Record<string, unknown>;
}

/** The platform as it is played to one service, for the rules. */
export interface Stage {
  settings: Settings;
  books: Books;
  /** The platform's address, as the service must use it. */
  platformUrl: string;
  /** Calls to the service that the sandbox does not make: malformed ones, and ones without valid credentials. */
  service: ServiceCalls;
  /** Sends the provision request of a new resource, with a real grant; resolves after the answer. */
  install(wish?: InstallWish): Promise<Resource>;
  redeliver(resource: Resource, wish?: { newCode?: boolean; plan?: string }): Promise<Delivery>;
  changePlan(resource: Resource, plan: string): Promise<Delivery>;
  deprovision(resource: Resource): Promise<Delivery>;
  callsOf(resource: Resource): Call[];
  /** Which call to the service is not answered yet, the oldest of all. */
  waitsFor(): Wait | null;
  /** How many calls got no answer since the last one that got one; Infinity if none ever was answered. */
  unanswered(): number;
  /**
   * Deprovisions everything that the service was made to provision, within 30 s at most, or 5 if it does not answer.
   * The platform stays, but no rule can call the service any more. Returns the uuids that are left.
   */
  takeDown(): Promise<string[]>;
  /** Does the same if it was not done yet, and closes the platform. */
  close(): Promise<void>;
}

const TAKEN_DOWN_WITHIN_MS = 30_000;
const MUTE_TAKEN_DOWN_WITHIN_MS = 5_000;

export async function openStage(settings: Settings): Promise<Stage> {
  const books = createBooks();
  const inventory = createInventory(settings.resourcesPath, settings.patience.answerMs);
  const resources = new Map<string, Resource>();
  const scripts = { get: (uuid: string) => resources.get(uuid)?.script } as ReadonlyMap<string, Script>;
  const line = createServiceLine(books, settings, inventory);
  const relay = await openRelay({ books, resources, call: line });
  const platformUrl = () => settings.platformUrl ?? front.url;
  const sandbox = await startSandbox({ ...partnerOf(settings, relay.url), publicUrl: platformUrl });
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
  let takingDown: Promise<string[]> | undefined;
  function takeDown(): Promise<string[]> {
    const isMute = inventory.unanswered() >= MUTE_AFTER;
    const withinMs = isMute ? MUTE_TAKEN_DOWN_WITHIN_MS : TAKEN_DOWN_WITHIN_MS;
    return (takingDown ??= inventory.takeDown((uuid) => deprovision(settings, uuid), withinMs));
  }

  /** Lets the sandbox call the service about a resource, for the rule that is being judged. */
  function calling(resource: Resource, call: () => Promise<unknown>): Promise<Delivery> {
    resource.rule = callsOfRule.getStore();
    return settled(resource, call());
  }

  /** Before the platform has processed the answer, no grant of the resource works. */
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
    platformUrl: platformUrl(),
    service: createServiceCalls(settings, line, inventory),
    async install({ plan = settings.plan, region = settings.region, options = {}, ...script } = {}) {
      // One at a time until the request is sent, because only then its uuid is known.
      const { resource, delivery } = await turns(async () => {
        const arrival = relay.expect(script);
        const delivery = control.install({
          ...{ plan, region, force: true },
          options: { ...exampleOptions(settings.manifest), ...options },
        });
        const failed = delivery.then(() =>
          Promise.reject(new Error("The sandbox sent no provision request.")),
        );
        return { resource: await Promise.race([arrival, failed]), delivery };
      });
      await settled(resource, delivery);
      return resource;
    },
    redeliver: (resource, wish = {}) => calling(resource, () => control.redeliver(resource.uuid, wish)),
    changePlan: (resource, plan) =>
      calling(resource, () => control.changePlan(resource.uuid, plan, { force: true })),
    deprovision: (resource) => calling(resource, () => control.deprovision(resource.uuid)),
    callsOf: ({ uuid }) => books.calls.filter((call) => call.uuid === uuid),
    waitsFor() {
      const oldest = inventory.oldest();
      return (
        oldest && { what: `an answer to ${oldest.outgoing.method} ${pathOf(oldest.outgoing)}`, ms: oldest.ms }
      );
    },
    unanswered: inventory.unanswered,
    takeDown,
    async close() {
      await takeDown();
      books.close();
      await front.close();
      await sandbox.close();
      await relay.close();
    },
  };
}

const pathOf = ({ path }: Outgoing) => path.split("?", 1)[0];

function partnerOf(settings: Settings, relayUrl: string): Parameters<typeof startSandbox>[0] {
  const { addonId, addonPassword, clientSecret, ssoSalt, resourcesPath } = settings;
  const known = { addonId, addonPassword, ssoSalt, resourcesPath };
  // The relay must time out first, because it records that there was no answer.
  const partnerTimeoutMs = settings.patience.answerMs + 5_000;
  return {
    ...known,
    ...(clientSecret !== null && { clientSecret }),
    partnerTimeoutMs,
    partnerUrl: relayUrl,
    acceptCreated: true,
  };
}

/** Sends a deprovision as the platform does, whatever state the sandbox has for the resource. */
function deprovision(
  { url, resourcesPath, addonId, addonPassword, patience }: Settings,
  uuid: string,
): Promise<Reply> {
  const headers = { accept: MEDIA_TYPE, authorization: basic(addonId, addonPassword) };
  const path = `${resourcesPath}/${encodeURIComponent(uuid)}`;
  return send(url, { method: "DELETE", path, headers }, patience.answerMs);
}
