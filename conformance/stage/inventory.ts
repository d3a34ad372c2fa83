import { setTimeout as sleep } from "node:timers/promises";
import { membersIn, type Outgoing, type Reply } from "./wire.ts";

/** What the service was asked to make, and has not been told to take away: by whatever rule, whoever sent it. */
export interface Inventory {
  /** Carries out a call to the service and writes down what came of it. Throws once the taking down has begun. */
  watch(outgoing: Outgoing, call: () => Promise<Reply>): Promise<Reply>;
  /**
   * Deprovisions all that is left with `deprovision`, and answers the uuids that nothing could be done about. Nothing
   * else is called from here on; what is under way is waited for. It takes as long as `withinMs` at the most.
   */
  takeDown(deprovision: (uuid: string) => Promise<Reply>, withinMs: number): Promise<string[]>;
}

/** So many at a time, and each so often: a service may be busy, or broken. */
const AT_A_TIME = 6;
const TRIES = 3;
const PAUSE_MS = 500;

export function createInventory(resourcesPath: string): Inventory {
  const made = new Set<string>();
  const underWay = new Set<Promise<unknown>>();
  let isOver = false;

  function note(outgoing: Outgoing, status: number | null): void {
    const [path] = outgoing.path.split("?");
    if (outgoing.method === "POST" && path === resourcesPath) {
      const { uuid } = membersIn(String(outgoing.body ?? ""));
      // No answer may mean that it was made all the same; a refusal means that it was not.
      if (typeof uuid === "string" && !isRefusal(status)) made.add(uuid.toLowerCase());
    } else if (outgoing.method === "DELETE" && isGone(status)) {
      made.delete(decodeURIComponent(path!.slice(resourcesPath.length + 1)).toLowerCase());
    }
  }

  /** Whether it is gone. */
  async function takeAway(uuid: string, deprovision: (uuid: string) => Promise<Reply>): Promise<void> {
    for (let left = TRIES; left > 0 && made.has(uuid); left--) {
      const status = await deprovision(uuid).then(
        (reply) => reply.status,
        () => null,
      );
      if (isGone(status)) made.delete(uuid);
      else if (isRefusal(status)) return;
      else await sleep(PAUSE_MS);
    }
  }

  return {
    async watch(outgoing, call) {
      if (isOver) throw new Error("The run is over.");
      const calling = call();
      underWay.add(calling);
      try {
        const reply = await calling;
        note(outgoing, reply.status);
        return reply;
      } catch (error) {
        note(outgoing, null);
        throw error;
      } finally {
        underWay.delete(calling);
      }
    },

    async takeDown(deprovision, withinMs) {
      isOver = true;
      const work = async () => {
        await Promise.allSettled(underWay);
        const queue = [...made];
        const lane = async () => {
          for (let uuid = queue.shift(); uuid !== undefined; uuid = queue.shift())
            await takeAway(uuid, deprovision);
        };
        await Promise.all(Array.from({ length: AT_A_TIME }, lane));
      };
      await Promise.race([work(), sleep(withinMs, undefined, { ref: false })]);
      return [...made];
    },
  };
}

const isGone = (status: number | null) =>
  status !== null && (status < 300 || status === 404 || status === 410);
const isRefusal = (status: number | null) => status !== null && status >= 400 && status < 500;
