import { setTimeout as sleep } from "node:timers/promises";
import { membersIn, type Outgoing, type Reply } from "./wire.ts";

/** The resources that the service was asked to make and not yet to deprovision, by any rule and any kind of call. */
export interface Inventory {
  /**
   * Makes a call to the service, which must end `withinMs`, and records its result. Throws once `takeDown` has begun.
   */
  watch(outgoing: Outgoing, call: (withinMs: number) => Promise<Reply>): Promise<Reply>;
  /** The oldest call that is not answered yet. */
  oldest(): { outgoing: Outgoing; ms: number } | null;
  /** How many calls got no answer since the last one that got one; Infinity if none ever was answered. */
  unanswered(): number;
  /**
   * Deprovisions everything that is left with `deprovision`, within `withinMs` at most, and returns the uuids that are
   * still left. From then on no other call is made; calls under way are awaited first.
   */
  takeDown(deprovision: (uuid: string) => Promise<Reply>, withinMs: number): Promise<string[]>;
}

/** How many at a time, and how often each is tried: a service may be busy or broken. */
const AT_A_TIME = 6;
const TRIES = 3;
const PAUSE_MS = 500;
const TOO_MANY = 429;

/**
 * From so many calls without an answer on, a service is taken for one that gives none, and each later answer is waited
 * for more briefly, so that the run has an end.
 */
export const MUTE_AFTER = 3;
const BRIEFLY_MS = 5_000;

export function createInventory(resourcesPath: string, answerMs: number): Inventory {
  const made = new Set<string>();
  const underWay = new Map<Promise<unknown>, { outgoing: Outgoing; at: number }>();
  let [isOver, isEverAnswered, unanswered] = [false, false, 0];

  function note(outgoing: Outgoing, status: number | null): void {
    const [path] = outgoing.path.split("?");
    if (outgoing.method === "POST" && path === resourcesPath) {
      const { uuid } = membersIn(String(outgoing.body ?? ""));
      // Without an answer the resource may exist all the same; after a refusal it does not.
      if (typeof uuid === "string" && !isRefusal(status) && !isRedirect(status)) made.add(uuid.toLowerCase());
    } else if (outgoing.method === "DELETE" && isGone(status)) {
      made.delete(decodeURIComponent(path!.slice(resourcesPath.length + 1)).toLowerCase());
    }
  }

  /** Tries to deprovision a resource until it is gone or the service refuses. */
  async function takeAway(uuid: string, deprovision: (uuid: string) => Promise<Reply>): Promise<void> {
    for (let left = TRIES; left > 0 && made.has(uuid); left--) {
      const status = await deprovision(uuid).then(
        (reply) => reply.status,
        () => null,
      );
      if (isGone(status)) made.delete(uuid);
      else if (isRefusal(status) && status !== TOO_MANY) return;
      else await sleep(PAUSE_MS);
    }
  }

  return {
    async watch(outgoing, call) {
      if (isOver) throw new Error("The run is over.");
      const calling = call(unanswered < MUTE_AFTER ? answerMs : Math.min(answerMs, BRIEFLY_MS));
      underWay.set(calling, { outgoing, at: performance.now() });
      try {
        const reply = await calling;
        [isEverAnswered, unanswered] = [true, 0];
        note(outgoing, reply.status);
        return reply;
      } catch (error) {
        unanswered += 1;
        note(outgoing, null);
        throw error;
      } finally {
        underWay.delete(calling);
      }
    },

    oldest() {
      const [first] = underWay.values();
      return first ? { outgoing: first.outgoing, ms: performance.now() - first.at } : null;
    },

    unanswered: () => (isEverAnswered || unanswered === 0 ? unanswered : Infinity),

    async takeDown(deprovision, withinMs) {
      isOver = true;
      const work = async () => {
        await Promise.allSettled(underWay.keys());
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
const isRedirect = (status: number | null) => status !== null && status >= 300 && status < 400;
const isRefusal = (status: number | null) => status !== null && status >= 400 && status < 500;
