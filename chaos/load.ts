import { readFile } from "node:fs/promises";
import type { Ask } from "./database.ts";
import type { Fleet } from "./fleet.ts";
import type { History } from "./history.ts";
import type { TokenCall } from "./token-calls.ts";

/** The most that was seen of what must stay bounded (I8), and what was allowed. */
export interface Load {
  /** Of the process that had most, when nothing had just been cut off; and at any moment. */
  connections: number;
  connectionsInTrouble: number;
  mostConnections: number;
  /** Of the process that had most. */
  megabytes: number;
  mostMegabytes: number;
}

const LOOK_EVERY_MS = 1_000;
/** The database goes on for so long with what somebody asked for who is gone (`statement_timeout`, and some). */
const NOTICED_WITHIN_MS = 5_000;
/** A grant's five minutes at one call every ten seconds while the token endpoint fails, and the quicker first ones. */
const MOST_CALLS_A_CODE = 40;
/** Calls for one refresh token within a minute that brought nothing: a few tries, and those of each step that needs it. */
const MOST_IN_VAIN_A_MINUTE = 30;
const MOST_MEGABYTES = 250;

/** Looks every second, past the proxy, at how much each process of the service takes; each connects under its name. */
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
    // Told by `stop`; a run that failed before may ask it nothing any more.
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
      // One that was killed has its successor before the database has noticed its end.
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

/** What a process has in memory; 0 once it has ended, and where the system does not say. */
async function megabytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024);
}

/** What went beyond its bound; empty: nothing did. */
export function unbounded(calls: readonly TokenCall[], load: Load): string[] {
  const { mostConnections, megabytes, mostMegabytes } = load;
  const connections = Math.max(load.connections, Math.ceil(load.connectionsInTrouble / 2));
  return [
    ...[...byCredential(calls, ({ kind }) => kind === "exchange")]
      .filter(([, own]) => own.length > MOST_CALLS_A_CODE)
      .map(([, own]) => `${own[0]!.uuid}: ${own.length} calls with one code`),
    ...[...byCredential(calls, ({ kind, isIssued, isHarmed }) => kind === "refresh" && (!isIssued || isHarmed))]
      .map(([, own]) => ({ uuid: own[0]!.uuid, most: mostInAMinute(own) }))
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

/** The calls are in the order in which they were made. */
function mostInAMinute(calls: readonly TokenCall[]): number {
  let first = 0;
  return calls.reduce((most, { fromMs }, last) => {
    while (fromMs - calls[first]!.fromMs > 60_000) first += 1;
    return Math.max(most, last - first + 1);
  }, 0);
}
