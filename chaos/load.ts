import { readFile } from "node:fs/promises";
import type { Ask } from "./database.ts";
import type { Fleet } from "./fleet.ts";
import type { TokenCall } from "./token-calls.ts";

/** The most that was seen of what must stay bounded (I8), and what was allowed. */
export interface Load {
  connections: number;
  mostConnections: number;
  /** Of the process that had most. */
  megabytes: number;
  mostMegabytes: number;
}

const LOOK_EVERY_MS = 1_000;
/** A grant's five minutes at one call every ten seconds while the token endpoint fails, and the quicker first ones. */
const MOST_CALLS_A_CODE = 40;
const MOST_MEGABYTES = 400;

/** Looks every second, past the proxy, at how much the service takes. */
export function watchLoad({ ask, fleet, pool }: { ask: Ask; fleet: Fleet; pool: number }): { stop(): Promise<Load> } {
  const load: Load = {
    connections: 0,
    // A process that was killed has its successor before the database has noticed its end; and `kit` has a pool too.
    mostConnections: 2 * (fleet.members.length + 1) * pool,
    megabytes: 0,
    mostMegabytes: MOST_MEGABYTES,
  };
  let looking: Promise<void> = Promise.resolve();
  const timer = setInterval(() => (looking = looking.then(look)), LOOK_EVERY_MS);

  async function look(): Promise<void> {
    const [row] = await ask<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    load.connections = Math.max(load.connections, row!.count);
    for (const { child } of fleet.members) load.megabytes = Math.max(load.megabytes, await megabytesOf(child.pid!));
  }

  return {
    async stop() {
      clearInterval(timer);
      await looking;
      return load;
    },
  };
} // prettier-ignore

/** What a process has in memory; 0 once it has ended, and where the system does not say. */
async function megabytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024);
}

/** What went beyond its bound; empty: nothing did. */
export function unbounded(calls: readonly TokenCall[], load: Load): string[] {
  const ofCode = new Map<string, { uuid: string; count: number }>();
  for (const { kind, credential, uuid } of calls)
    if (kind === "exchange") ofCode.set(credential, { uuid, count: (ofCode.get(credential)?.count ?? 0) + 1 });
  const { connections, mostConnections, megabytes, mostMegabytes } = load;
  return [
    ...[...ofCode.values()]
      .filter(({ count }) => count > MOST_CALLS_A_CODE)
      .map(({ uuid, count }) => `${uuid}: ${count} calls with one code`),
    ...(connections > mostConnections ? [`${connections} connections; at most ${mostConnections} were allowed`] : []),
    ...(megabytes > mostMegabytes ? [`a process took ${megabytes} MB; at most ${mostMegabytes} were allowed`] : []),
  ];
} // prettier-ignore
