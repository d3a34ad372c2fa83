import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Customers } from "./customers.ts";
import type { Fleet, Settings } from "./fleet.ts";
import type { History } from "./history.ts";

/** Which release each process runs, when the service is updated during the run. */
export interface Releases {
  /** The folder of the programs with which the process of this name is started from now on. */
  programs(name: string): string;
  /** The command line of the release that has last migrated the database. */
  kit(): string;
  /** Updates the service under load. Half of the processes run the release before until `sideBySideMs` are over. */
  update(needs: Update): Promise<void>;
}

interface Update {
  fleet: Fleet;
  customers: Customers;
  history: History;
  /** For the migration: a database without faults. */
  settings: Settings;
  sideBySideMs: number;
}

const dist = fileURLToPath(new URL("../../dist", import.meta.url));

/** `before`: the folder of the release with which the service begins; null: there is no update. */
export function createReleases(before: string | null): Releases {
  const isUpdated = { database: before === null, half: before === null, all: before === null };
  const isOfHalf = (name: string) => name.endsWith("-2");

  /** Restarts the processes on the new release in turn. */
  async function roll({ fleet, history }: Update, isMeant: (name: string) => boolean): Promise<void> {
    for (const member of fleet.members.filter(({ name }) => isMeant(name)))
      history.stops.push({ name: member.name, ...(await fleet.restart(member)) });
  }

  return {
    programs: (name) => (isUpdated.all || (isUpdated.half && isOfHalf(name)) ? dist : before!),
    kit: () => path.join(isUpdated.database ? dist : before!, "kit.js"),

    async update(needs) {
      const { fleet, customers, history, settings, sideBySideMs } = needs;
      history.count("release updated");
      // Provisions that are stored when their processes die: the migration finds them as they were left.
      const installs = Array.from({ length: 12 }, () => customers.install());
      await sleep(100);
      await Promise.all(fleet.members.filter(({ name }) => name.startsWith("web-")).map(fleet.kill));
      const more = Array.from({ length: 12 }, () => customers.install());
      await migrated(fleet, settings);
      isUpdated.database = true;
      isUpdated.half = true;
      await Promise.all([...installs, ...more]);
      await roll(needs, isOfHalf);
      await sleep(sideBySideMs);
      isUpdated.all = true;
      await roll(needs, (name) => !isOfHalf(name));
    },
  };
}

async function migrated(fleet: Fleet, settings: Settings): Promise<void> {
  const env = { PATH: process.env["PATH"], ...settings };
  const child = spawn(process.execPath, [path.join(dist, "kit.js"), "migrate"], { env });
  fleet.hear(child);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The migration to the new release failed (${code}).`);
}
