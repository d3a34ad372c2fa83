import { readFile } from "node:fs/promises";
import type { Ask } from "./database.ts";
import type { Fleet } from "./fleet.ts";
import type { History } from "./history.ts";
import type { TokenCall } from "./token-calls.ts";

/** The peaks of what must stay bounded (I8), and their limits. */
export interface Load {
  /** The most connections of one process, while nothing had just been cut off (`connections`) and otherwise. */
  connections: number;
  connectionsInTrouble: number;
  mostConnections: number;
  /** The most memory of one process, in MB. */
  megabytes: number;
  mostMegabytes: number;
}

const LOOK_EVERY_MS = 1_000;
/**
 * The database continues a statement of a client that is gone for up to this long (`statement_timeout` and a margin).
 */
const NOTICED_WITHIN_MS = 5_000;
/**
 * A grant is tried for five minutes after each delivery: one call every ten seconds while the token endpoint fails, and
 * the quicker first ones.
 */
const MOST_CALLS_A_CODE = 40;
const A_GRANTS_LIFE_MS = 305_000;
/**
 * The limit of vain calls for one refresh token within a minute: a few retries, and those of each step that needs the
 * token.
 */
const MOST_IN_VAIN_A_MINUTE = 30;
const MOST_MEGABYTES = 250;

/**
 * Looks every second at the connections and the memory of each process. It asks the database directly, not through the
 * proxy; each process connects under its name.
 */
export function watchLoad(needs: {
  ask: Ask;
  fleet: Fleet;
  history: Pick<History, "databaseTroubles">;
  pool: number;
}): { stop(): Promise<Load> } {
  const { ask, fleet, history, pool } = needs;
  const load: Load = {
    ...{ connections: 0, connectionsInTrouble: 0, mostConnections: pool },
    ...{ megabytes: 0, mostMegabytes: MOST_MEGABYTES },
  };
  let looking: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(look);
    // `stop` reports the error; if the run fails before that, nobody handles it.
    looking.catch(() => undefined);
  }, LOOK_EVERY_MS);

  async function look(): Promise<void> {
    const sinceMs = Date.now() - NOTICED_WITHIN_MS;
    const rows = await ask<{ name: string; count: number }>(
      `SELECT application_name AS name, count(*)::int AS count FROM pg_stat_activity
       WHERE datname = current_database() GROUP BY 1`,
    );
    const wasCut = history.databaseTroubles.some(({ toMs }) => toMs >= sinceMs);
    for (const { name } of fleet.members) {
      const count = rows.find((row) => row.name === name)?.count ?? 0;
      // The successor of a killed process may connect before the database has noticed the end of the old one.
      const isTrouble = wasCut || fleet.kills.some((kill) => kill.name === name && kill.atMs >= sinceMs);
      const member = isTrouble ? "connectionsInTrouble" : "connections";
      load[member] = Math.max(load[member], count);
    }
    for (const { child } of fleet.members) load.megabytes = Math.max(load.megabytes, await megabytesOf(child.pid!));
  } // prettier-ignore

  return {
    async stop() {
      clearInterval(timer);
      await looking;
      return load;
    },
  };
}

/** The resident memory of a process, in MB; 0 if it has ended, or where the system does not tell. */
async function megabytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024);
}

/** What exceeded its limit; empty if nothing did. */
export function unbounded(calls: readonly TokenCall[], load: Load): string[] {
  const { mostConnections, megabytes, mostMegabytes } = load;
  const connections = Math.max(load.connections, Math.ceil(load.connectionsInTrouble / 2));
  return [
    ...[...byCredential(calls, ({ kind }) => kind === "exchange")]
      .map(([, own]) => ({ uuid: own[0]!.uuid, most: mostWithin(A_GRANTS_LIFE_MS, own) }))
      .filter(({ most }) => most > MOST_CALLS_A_CODE)
      .map(({ uuid, most }) => `${uuid}: ${most} calls with one code within its life`),
    ...[...byCredential(calls, ({ kind, isIssued, isHarmed }) => kind === "refresh" && (!isIssued || isHarmed))]
      .map(([, own]) => ({ uuid: own[0]!.uuid, most: mostWithin(60_000, own) }))
      .filter(({ most }) => most > MOST_IN_VAIN_A_MINUTE)
      .map(({ uuid, most }) => `${uuid}: ${most} calls in vain within a minute for one refresh token`),
    ...(connections > mostConnections ? [`${connections} connections of one process; at most ${mostConnections} were allowed`] : []),
    ...(megabytes > mostMegabytes ? [`a process took ${megabytes} MB; at most ${mostMegabytes} were allowed`] : []),
  ];
} // prettier-ignore

function byCredential(
  calls: readonly TokenCall[],
  isMeant: (call: TokenCall) => boolean,
): Map<string, TokenCall[]> {
  const groups = new Map<string, TokenCall[]>();
  for (const call of calls.filter(isMeant))
    groups.set(call.credential, [...(groups.get(call.credential) ?? []), call]);
  return groups;
}

/** The largest number of calls within so many ms. The calls must be in the order in which they were made. */
function mostWithin(ms: number, calls: readonly TokenCall[]): number {
  let first = 0;
  return calls.reduce((most, { fromMs }, last) => {
    while (fromMs - calls[first]!.fromMs > ms) first += 1;
    return Math.max(most, last - first + 1);
  }, 0);
}
