import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Counts, Orders } from "./platform.ts";

export interface Platform {
  url: string;
  /** Sends orders, if any, and answers the counts so far. Throws if the platform got a call that it does not know. */
  tell(orders?: Orders): Promise<Counts>;
  stop(): void;
}

/**
 * Longer than any bench: the token endpoint does not answer, so that only what comes before the exchange is measured.
 */
export const NEVER_MS = 3_600_000;

/** Starts the platform as a process of its own. */
export async function startPlatform(): Promise<Platform> {
  const child = fork(fileURLToPath(new URL("platform.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
  });
  const heard = async <Message>() => (await once(child, "message"))[0] as Message;
  const { port } = await heard<{ port: number }>();
  return {
    url: `http://127.0.0.1:${port}`,
    async tell(orders = {}) {
      const answer = heard<Counts>();
      await new Promise<void>((resolve, reject) =>
        child.send(orders, (error) => (error ? reject(error) : resolve())),
      );
      const counts = await answer;
      if (counts.strange.length > 0)
        throw new Error(`The bench's platform does not know ${counts.strange.join(", ")}`);
      return counts;
    },
    stop: () => void (child.connected && child.disconnect()),
  };
}
