import { expect } from "@jest/globals";
import type { program } from "./program.ts";
import { aServiceProcess, type ServiceProcess } from "./process.ts";
import { aWorld, eventually, type Wishes } from "./world.ts";

/**
 * A platform and a database whose service consists of real processes, started and ended by the test.
 */
export async function aProcessWorld({ programs, ...wishes }: Wishes & { programs?: typeof program } = {}) {
  const world = await aWorld(wishes);
  await world.service.stop();
  const { control } = world.sandbox;
  const running: ServiceProcess[] = [];
  const killAll = async () => {
    for (const each of running.splice(0)) {
      each.signal("SIGKILL");
      await each.ended;
    }
  };

  return {
    world,
    control,

    async start(kind: "web" | "worker" = "web", environment: Record<string, string> = {}) {
      const settings = { ...world.environment, LOG_LEVEL: "info", ...environment };
      const started = await aServiceProcess(kind, settings, programs);
      running.push(started);
      if (started.url) control.partner({ partnerUrl: started.url });
      return started;
    },
    killAll,

    /** Installs add-ons with the default plan. */
    install: (count: number) =>
      Promise.all(Array.from({ length: count }, async () => (await control.install({})).addon.id)),
    /** Longer than the 45 s for which a claim holds a row whose acknowledgement was lost. */
    become: (uuids: string[], generation: number, withinMs = 60_000) =>
      eventually(async () => {
        const found = await world.rows(
          `SELECT state, generation, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1, 2`,
          [uuids],
        );
        expect(found).toEqual([{ state: "active", generation, count: uuids.length }]);
      }, withinMs),
    makeDue: (uuids: string[]) =>
      world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]),
    position: () => control.ledger().next,
    /** The number of successful calls to the token endpoint. */
    issuedSince: (since: number) =>
      control
        .ledger({ since })
        .entries.filter(({ path, response }) => path === "/oauth/token" && (response?.status ?? 500) < 300)
        .length,
    async close(): Promise<void> {
      await killAll();
      await world.close();
    },
  };
}

export type ProcessWorld = Awaited<ReturnType<typeof aProcessWorld>>;

/**
 * Environment for a process that runs `code` before the service is loaded. This allows a wrong clock, or an error in an
 * unexpected place, without a switch in the service.
 */
export const before = (code: string): Record<string, string> => ({
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}`,
});
