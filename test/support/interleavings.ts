import type { Database } from "../../src/database/database.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";

/** An error of the database with this SQLSTATE. */
export function databaseError(code: string): Error {
  return Object.assign(new Error("It failed."), { code, severity: "ERROR" });
}

/** The connection is lost. */
export const lost = () => Promise.reject(databaseError("08006"));

/**
 * What happens at a moment of something else, once. The moments of a statement: `before NAME`; `after NAME`, when it has
 * returned rows that the service does not have yet; `unheard NAME`, when it has run, and the connection is lost then; `deadlock
 * NAME`, in a transaction; `committed NAME`, when the transaction that it ends was committed, and the service does not know
 * yet. Those of a call to the token endpoint: `answered exchange` and `answered refresh`, when the
 * platform has answered and the service does not have the answer yet.
 */
export function interleavings() {
  const moments = new Map<string, () => Promise<unknown>>();

  /** Whether something happened at this moment. */
  async function reach(moment: string): Promise<boolean> {
    const happens = moments.get(moment);
    moments.delete(moment);
    await happens?.();
    return happens !== undefined;
  }

  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(statement, ...values) {
      await reach(`before ${statement.name}`);
      const rows = await database.query(statement, ...values);
      if (rows.length > 0) await reach(`after ${statement.name}`);
      if (await reach(`unheard ${statement.name}`)) return lost();
      return rows;
    },
    async transaction(work) {
      let last = "";
      const result = await database.transaction((tx) =>
        work({
          async query(statement, ...values) {
            last = statement.name;
            if (await reach(`deadlock ${last}`)) throw databaseError("40P01");
            return tx.query(statement, ...values);
          },
        }),
      );
      await reach(`committed ${last}`);
      return (await reach(`unheard ${last}`)) ? lost() : result;
    },
  });
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    async exchange(...given) {
      const answer = await endpoint.exchange(...given);
      await reach("answered exchange");
      return answer;
    },
    async refresh(...given) {
      const answer = await endpoint.refresh(...given);
      await reach("answered refresh");
      return answer;
    },
  });

  return {
    moments,
    reach,
    parts: { wrapDatabase, wrapTokenEndpoint },
    /** What happens at a moment each time, until the answer is called. */
    always(moment: string, happens: () => Promise<unknown>): () => void {
      const again = () => {
        moments.set(moment, again);
        return happens();
      };
      moments.set(moment, again);
      return () => void moments.delete(moment);
    },
  };
}
