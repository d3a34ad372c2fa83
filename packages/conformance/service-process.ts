import { spawn, spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { whyNoAnswer } from "./reachable.ts";
import type { Settings } from "./settings.ts";

/** The run was interrupted. */
export class Interrupted extends Error {
  constructor(message = "Stopped: nothing is judged.") {
    super(message);
  }
}

/** A service that was started by its command. */
export interface ServiceProcess {
  /** Rejects, with the last lines of the output, when the process has ended; it must not end before it is stopped. */
  ended: Promise<never>;
  hasEnded(): boolean;
  /** Sends SIGTERM, and SIGKILL after 30 s; resolves when the process has ended. On Windows it is ended at once. */
  stop(): Promise<void>;
  /** Sends SIGKILL at once. */
  kill(): void;
}

const ANSWERS_WITHIN_MS = 90_000;
const STOPS_WITHIN_MS = 30_000;
const LAST_LINES = 15;
const IS_WINDOWS = process.platform === "win32";

/**
 * Starts a command with everything a service needs in its environment; resolves once it answers. Throws if it does not,
 * or if `signal` is aborted; the process is stopped then.
 */
export async function startService(
  command: string,
  settings: Settings,
  platformUrl: string,
  signal: AbortSignal,
): Promise<ServiceProcess> {
  const child = spawn(command, {
    // A process group of its own, so that processes started by the shell are stopped with it.
    ...{ shell: true, detached: !IS_WINDOWS, windowsHide: true, stdio: ["ignore", "pipe", "pipe"] },
    env: { ...process.env, ...environmentOf(settings, platformUrl) },
  });
  let said = "";
  const listen = (chunk: Buffer) => void (said = (said + chunk.toString()).slice(-10_000));
  child.stdout!.on("data", listen);
  child.stderr!.on("data", listen);
  let isOver = false;
  let how = "";
  const over = new Promise<void>((resolve) =>
    child.once("close", (status, signal) => {
      isOver = true;
      how = signal ? `by ${signal}` : `with exit status ${status}`;
      resolve();
    }),
  );
  function failure(what: string): Error {
    const lines = said.trim().split("\n").slice(-LAST_LINES).join("\n");
    return new Error(`The service ${what}${lines ? `. Its last lines:\n${lines}` : ", and said nothing."}`);
  }
  const ended = over.then(() => Promise.reject(failure(`ended in the middle of the run, ${how}`)));
  // Nobody may be waiting for it yet, or any more: this prevents an unhandled rejection.
  ended.catch(() => undefined);
  /** Returns whether there was anybody to tell. */
  const tell = (name: NodeJS.Signals): boolean => {
    try {
      return IS_WINDOWS ? endTree(child.pid!) : process.kill(-child.pid!, name);
    } catch {
      return false;
    }
  };

  async function stop(): Promise<void> {
    if (tell("SIGTERM")) await Promise.race([over, sleep(STOPS_WITHIN_MS, undefined, { ref: false })]);
    if (!isOver) tell("SIGKILL");
    // A process that has left the group lives on, and may hold the output open.
    child.stdout!.destroy();
    child.stderr!.destroy();
    await over;
  }

  const until = performance.now() + ANSWERS_WITHIN_MS;
  for (
    let whyNot = await whyNoAnswer(settings.url);
    whyNot !== null || isOver;
    whyNot = await whyNoAnswer(settings.url)
  ) {
    if (!isOver && !signal.aborted && performance.now() < until) {
      await sleep(100);
      continue;
    }
    if (signal.aborted) throw await stop().then(() => new Interrupted());
    const what = isOver
      ? `ended before it answered, ${how}`
      : `did not answer within ${ANSWERS_WITHIN_MS / 1000} s: ${whyNot!.replace(/\.$/, "")}`;
    await stop();
    throw failure(what);
  }
  return { ended, hasEnded: () => isOver, stop, kill: () => void tell("SIGKILL") };
}

/** Windows has neither groups nor signals: ends the process and all that it has started. Returns whether it was there. */
const endTree = (pid: number) => spawnSync("taskkill", ["/pid", `${pid}`, "/t", "/f"]).status === 0;

function environmentOf(
  { url, addonId, addonPassword, clientSecret, ssoSalt, resourcesPath }: Settings,
  platformUrl: string,
) {
  return {
    PORT: new URL(url).port || "80",
    ADDON_ID: addonId,
    ADDON_PASSWORD: addonPassword,
    CLIENT_SECRET: clientSecret ?? "",
    RESOURCES_PATH: resourcesPath,
    PLATFORM_API_URL: platformUrl,
    PLATFORM_AUTH_URL: platformUrl,
    PLATFORM_STATUS_URL: platformUrl,
    ALLOW_INSECURE_PLATFORM: "on",
    ...(ssoSalt !== null && { SSO_SALT: ssoSalt }),
  };
}
