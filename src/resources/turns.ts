/**
 * Requests for one resource take turns within a process: a repeated provision waits for the first one's answer instead
 * of racing it, and plan changes happen in the order they came. Across processes the database decides.
 */
export function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return async function inTurn<Result>(uuid: string, work: () => Promise<Result>): Promise<Result> {
    const turn = last.get(uuid)?.then(work, work) ?? work();
    last.set(uuid, turn);
    try {
      return await turn;
    } finally {
      if (last.get(uuid) === turn) last.delete(uuid);
    }
  };
}

export type InTurn = ReturnType<typeof createTurns>;
