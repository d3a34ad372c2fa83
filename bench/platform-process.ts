import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Counts, Orders } from "./platform.ts";

export interface Platform {
  url: string;
  /** Gives an order, if there is one, and answers what was counted so far. Throws if a call was not understood. */
  tell(orders?: Orders): Promise<Counts>;
  stop(): void;
}

/** Longer than any bench: whoever asks for a token gets none, so that what comes before the exchange is measured alone. */
export const NEVER_MS = 3_600_000;

/** Starts the platform as a process of its own, beside the load. */
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
