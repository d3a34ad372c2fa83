import { checkPartner } from "../control/setting-changes.ts";
import { settingsFromEnvironment } from "../environment.ts";
import { type LedgerEntry, type Sandbox, startSandbox } from "../index.ts";
import { isLoopback, type SandboxSettings } from "../settings.ts";
import type { ControlRequest } from "./control-tools.ts";

const WHAT_NOW = "Start one with startSandbox, or use one that runs with attachSandbox.";

interface Place {
  url: string;
  token: string | null;
  /** Absent: the sandbox is another process's, and outlives this one. */
  own?: Sandbox;
}

/**
 * The sandbox that the tools act on: one of this process, or one that runs elsewhere on this machine or at the address in
 * `SANDBOX_URL`. Each function throws an error with a sentence for the assistant.
 */
export function createConnection(environment: NodeJS.ProcessEnv, onEntry: (entry: LedgerEntry) => void) {
  const given = environment["SANDBOX_URL"];
  let place: Place | undefined = given ? placeAt(given) : undefined;
  let starting: Promise<Sandbox> | undefined;

  function placeAt(url: string): Place {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new Error(`${url} is not the http address of a sandbox.`);
    // The token must not reach an address that only the assistant knows of.
    if (url !== given && !isLoopback(new URL(url).hostname))
      throw new Error(
        `${url} is not on this machine. To use a sandbox elsewhere, set SANDBOX_URL in the configuration of this server.`,
      );
    return { url, token: environment["SANDBOX_TOKEN"] || null };
  }

  async function start(wish: Record<string, unknown>) {
    if (place?.own || starting)
      throw new Error(
        `A sandbox of this server runs already${place ? ` on ${place.url}` : ""}; first call stopSandbox.`,
      );
    const { port, ...partner } = wish;
    const fromEnvironment = settingsFromEnvironment(environment);
    const settings: Partial<SandboxSettings> = { ...fromEnvironment, ...checkPartner(partner) };
    if (port !== undefined) settings.port = port as number;
    starting = startSandbox({ ...settings, onEntry });
    try {
      const own = await starting;
      place = { url: own.url, token: own.settings.token, own };
      return about(own, settings);
    } catch (error) {
      if ((error as { code?: string }).code !== "EADDRINUSE") throw error;
      throw new Error(
        `Port ${settings.port} is in use. If a sandbox has it, call attachSandbox with its address; else start one with another port, 0 for any.`,
        { cause: error },
      );
    } finally {
      starting = undefined;
    }
  }

  async function stop() {
    if (!place) throw new Error(`There is no sandbox to stop. ${WHAT_NOW}`);
    const { url, own } = place;
    place = undefined;
    await own?.close();
    return own ? { stopped: url } : { left: url, message: "It runs on; another process started it." };
  }

  function call(request: ControlRequest, signal: AbortSignal): Promise<unknown> {
    if (!place) throw new Error(`There is no sandbox yet. ${WHAT_NOW}`);
    return callAt(place, request, signal);
  }

  return {
    start,
    /** Uses a sandbox that another process runs, if it answers. */
    async attach(url: string, signal: AbortSignal) {
      if (place?.own)
        throw new Error(`A sandbox of this server runs on ${place.url}; first call stopSandbox.`);
      const found = placeAt(url);
      await callAt(found, { method: "GET", path: "/sandbox/health" }, signal);
      place = found;
      return { url, message: "The tools now act on this sandbox. stopSandbox only leaves it." };
    },
    stop,
    call,
    /** Closes a sandbox of this process, also one that is starting. */
    async close() {
      await starting?.catch(() => undefined);
      await place?.own?.close();
      place = undefined;
    },
  };
}

export type Connection = ReturnType<typeof createConnection>;

async function callAt({ url, token }: Place, { method, path, body }: ControlRequest, signal: AbortSignal) {
  const response = await fetch(new URL(path, url), {
    method,
    redirect: "error",
    signal,
    headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
    ...(body && { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new Error(`The sandbox on ${url} does not answer (${reasonOf(error)}). ${WHAT_NOW}`, {
      cause: error,
    });
  });
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new Error(refusal(url, response.status, answer));
}

/** What an assistant needs to start the service; of the credentials only those that were generated. */
function about({ url, settings }: Sandbox, given: Partial<SandboxSettings>) {
  const { partnerUrl, resourcesPath, addonId, addonPassword, clientSecret } = settings;
  return {
    url,
    message: `The platform's API, its authorization service, its status feed and its pages are on ${url}. It calls the service on ${partnerUrl}${resourcesPath}.`,
    generated: {
      ...(!given.addonPassword && { ADDON_ID: addonId, ADDON_PASSWORD: addonPassword }),
      ...(!given.clientSecret && { CLIENT_SECRET: clientSecret }),
    },
  };
}

function refusal(url: string, status: number, answer: unknown): string {
  const { id, message } = (answer ?? {}) as { id?: string; message?: string };
  if (id === undefined) return `${url} answered ${status}, and not as a sandbox does. ${WHAT_NOW}`;
  const cure = status === 401 ? " Set SANDBOX_TOKEN in the configuration of this server." : "";
  return `The sandbox refused the call with ${status} ${id}: ${message}${cure}`;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string };
  return cause?.code ?? cause?.message ?? message;
}
