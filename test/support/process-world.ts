import { pathToFileURL } from "node:url";
import { aServiceProcess, type ServiceProcess } from "./process.ts";
import { program } from "./program.ts";
import { tokenPairs } from "./token-pairs.ts";
import { aWorld, UNHURRIED, type Wishes } from "./world.ts";

/**
 * A platform and a database whose service consists of real processes, started and ended by the test.
 */
export async function aProcessWorld({ programs, ...wishes }: Wishes & { programs?: typeof program } = {}) {
  const world = await aWorld(wishes);
  await world.service.stop();
  const { control } = world.sandbox;
  const pace = JSON.stringify(pathToFileURL((programs ?? program)("src/pace.ts")).href);
  /** Its function may be as slow as one of this process, see {@link UNHURRIED}; then the code of the test runs. */
  const unhurried = ({ NODE_OPTIONS: code = "" }: Record<string, string>) => {
    const own = before(`Object.assign((await import(${pace})).PACE, ${JSON.stringify(UNHURRIED)})`);
    return { NODE_OPTIONS: `${own["NODE_OPTIONS"]} ${code}`.trim() };
  };
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

    async start(
      kind: "web" | "worker" = "web",
      environment: Record<string, string> = {},
      mostFiles?: number,
    ) {
      const settings = { ...world.environment, LOG_LEVEL: "info", ...environment, ...unhurried(environment) };
      const started = await aServiceProcess(kind, settings, programs, mostFiles);
      running.push(started);
      if (started.url) control.partner({ partnerUrl: started.url });
      return started;
    },
    killAll,

    ...tokenPairs(world),
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
