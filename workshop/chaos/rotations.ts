import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "../../packages/sandbox/index.ts";
import type { Fleet, Settings } from "./fleet.ts";
import type { History } from "./history.ts";
import type { Random } from "./random.ts";

/** The operator's rotations while everything else goes on: a new client secret, a new encryption key. */
export interface Rotations {
  clientSecret(): Promise<void>;
  encryptionKey(): Promise<void>;
  settings(): Settings;
}

export function createRotations(needs: {
  sandbox: Sandbox;
  fleet: () => Fleet;
  /** The file of the command line. */
  kit: () => string;
  base: Settings;
  random: Random;
  history: History;
}): Rotations {
  const { sandbox, fleet, base, random, history } = needs;
  let keys = { ENCRYPTION_KEY: aKey(), DECRYPTION_KEYS: "" };
  let resetting: Promise<void> = Promise.resolve();
  const settings = () => ({ ...base, ...keys });

  function aKey(): string {
    const key = randomBytes(24).toString("hex");
    history.secrets.add(key);
    return key;
  }

  /** Runs a command of `kit`. Answers its exit code; null if it was killed after `killAfterMs`. */
  async function kit(args: string[], input = "", killAfterMs?: number): Promise<number | null> {
    const child = spawn(process.execPath, [needs.kit(), ...args], {
      env: { PATH: process.env["PATH"], ...settings() },
    });
    fleet().hear(child);
    child.stdin.on("error", () => undefined).end(input);
    const timer =
      killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    const [code] = (await once(child, "exit")) as [number | null];
    clearTimeout(timer);
    return code;
  }

  async function untilDone(args: string[], input = ""): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      if ((await kit(args, input)) === 0) return;
      await sleep(1_000);
    }
    throw new Error(`kit ${args.join(" ")} did not succeed in twenty tries.`);
  }

  /** Restarts every process in turn, like a rolling deployment. */
  async function roll(change: typeof keys): Promise<void> {
    keys = change;
    for (const member of fleet().members) {
      const ended = await fleet().restart(member, change);
      history.stops.push({ name: member.name, ...ended });
    }
  }

  return {
    settings,

    clientSecret() {
      // One reset after the other, because an operator sets the newest secret.
      resetting = resetting.then(async () => {
        const { secret } = sandbox.control.resetClientSecret();
        history.secrets.add(secret);
        await sleep(random.between(1_000, 10_000));
        await untilDone(["secret", "set", "--no-wait"], secret);
      });
      return resetting;
    },

    async encryptionKey() {
      const [old, fresh] = [keys.ENCRYPTION_KEY, aKey()];
      await roll({ ENCRYPTION_KEY: old, DECRYPTION_KEYS: fresh });
      await roll({ ENCRYPTION_KEY: fresh, DECRYPTION_KEYS: old });
      for (let kill = 0; kill < 3; kill++) await kit(["keys", "reseal"], "", random.between(300, 1_500));
      await untilDone(["keys", "reseal"]);
      await roll({ ENCRYPTION_KEY: fresh, DECRYPTION_KEYS: "" });
    },
  };
}
