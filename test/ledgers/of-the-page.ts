import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { migrate } from "../../src/database/migrate.ts";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import { aVendor } from "../support/a-vendor.ts";
import { administer, databaseUrl, impatient } from "../support/database.ts";
import { kit, kitJson } from "../support/kit.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { postgresql15 } from "../support/postgresql-15.ts";
import { eventually, QUICK } from "../support/world.ts";

// A service on servers of its own that are restored or promoted, and docs/operate.md, whose lines lead out of it.

const page = readFileSync(new URL("../../docs/operate.md", import.meta.url), "utf8");

/** The lines of the code blocks of a section, block by block. */
export function commandsOf(section: string): string[][] {
  const [, text = ""] = page.split(`\n## ${section}\n`);
  const blocks = text.split("\n## ")[0]!.matchAll(/```sh\n([\s\S]*?)```/g);
  return [...blocks].map(([, block]) => block!.trim().split(/\n\s*/));
}

/** A backend of its own, which no backup brings back: what its functions return is as it is today. */
function aBackend() {
  const has = new Set<string>();
  const retired: string[] = [];
  const credentials = new Map<string, string>();
  const recorded = aVendor();
  type Made = Parameters<typeof recorded.provision>[0];
  const tokenOf = (uuid: string) => credentials.get(uuid) ?? `first-token-of-${uuid}`;
  const done = (uuid: string, plan: string) => ({
    config: { TEAPOT_URL: `https://${plan}.teapots.example/${uuid}`, TEAPOT_TOKEN: tokenOf(uuid) },
    message: "It is ready.",
  });
  const vendor = {
    ...recorded,
    provision: async (resource: Made) => {
      has.add(resource.uuid);
      await recorded.provision(resource);
      return done(resource.uuid, resource.plan);
    },
    changePlan: async (resource: Made) => done(resource.uuid, resource.plan),
    deprovision: async (resource: Parameters<typeof recorded.deprovision>[0]) => {
      has.delete(resource.uuid);
      return recorded.deprovision(resource);
    },
    list: async function* () {
      yield* has;
    },
    rotation: {
      rotate: async ({ uuid, plan, idempotencyKey }: Made) => {
        const retires = tokenOf(uuid);
        credentials.set(uuid, `rotated-${idempotencyKey}`);
        return { ...done(uuid, plan), retires };
      },
      retire: async (_resource: Made, retires: unknown) => void retired.push(String(retires)),
    },
  };
  return { has, retired, parts: { vendor: vendor as never, pace: { ...QUICK, beatMs: 500 } } };
}

/** A server `primary`, and a service on it once `open` is called. */
export async function onServersOfItsOwn() {
  const servers = await postgresql15();
  const { has, retired, parts } = aBackend();
  const before = { server: process.env["TEST_SERVER_URL"], template: process.env["TEST_TEMPLATE"] };
  let life: LifecycleWorld | undefined;
  const uuids = path.join(servers.folder, "uuids.txt");

  /** `at`: the address of the server, as the service sees it. */
  async function open(at: string): Promise<LifecycleWorld> {
    process.env["TEST_SERVER_URL"] = at;
    return (life = await aLifecycle({
      parts,
      environment: { LEGACY_GRANTS: "on" },
      sandbox: { legacyGrants: true },
    }));
  }

  async function startPrimary(...settings: string[]): Promise<string> {
    await servers.initialise("primary");
    const url = await servers.start("primary", "wal_level=replica", "max_wal_senders=4", ...settings);
    await administer(url, (ask) => ask(`CREATE DATABASE template_15`));
    await migrate({ url: databaseUrl(url, "template_15") });
    process.env["TEST_TEMPLATE"] = "template_15";
    return url;
  }

  /** Runs a line of the page. */
  async function say(line: string): Promise<string> {
    const { environment } = life!.world;
    const [words, file] = line.split(" < ");
    if (!line.startsWith("kit ")) {
      chmodSync(servers.folder, 0o755);
      const env = {
        PATH: `${servers.bin}:${process.env["PATH"]}`,
        DATABASE_URL: impatient(environment["DATABASE_URL"]!),
      };
      await promisify(execFile)("/bin/sh", ["-ec", line], { cwd: servers.folder, env });
      return "";
    }
    const input = file ? readFileSync(path.join(servers.folder, file), "utf8") : "";
    const { stdout, stderr } = await kit(environment, words!.split(" ").slice(1), input, parts);
    return stdout + stderr;
  }

  async function rotate(uuid: string): Promise<void> {
    await kit(life!.world.environment, ["rotate", uuid], "", parts);
    await eventually(async () => expect(await life!.steps(uuid)).toEqual(["retire"]));
  }

  /** Rotates one, ends one, sells two and changes the plan of one: what a backup from before then lacks. */
  async function whatHappensSince(rotated: string, left: string, upgraded: string) {
    await rotate(rotated);
    await life!.control.deprovision(left);
    await life!.nothingLeft(left);
    await life!.control.changePlan(upgraded, "premium");
    await life!.resourceBecomes(upgraded, { plan: "premium" });
    const sold = [await life!.settled(), await life!.settled()];
    const token = life!.varsAt(rotated)["TEAPOT_TOKEN"];
    expect(token).toMatch(/^rotated-/);
    return { rotated, left, upgraded, sold, token };
  }

  /** The platform's list of today. */
  function writeList(alive: readonly string[], upgraded: string): void {
    const lines = alive.map((uuid) =>
      JSON.stringify({ uuid, plan: uuid === upgraded ? "premium" : "basic" }),
    );
    writeFileSync(uuids, lines.join("\n"));
  }

  return {
    servers,
    retired,
    parts,
    open,
    startPrimary,
    say,
    rotate,
    whatHappensSince,
    writeList,
    async restoreCheck() {
      const { data } = await kitJson<DoctorReport>(life!.world.environment, ["doctor"]);
      return data.checks.find(({ id }) => id === "restore")!;
    },

    /** Steps 5 to 8 of "After a restore". `alive`: what the platform has. */
    async leadsOut(
      { rotated, left, upgraded, token }: Awaited<ReturnType<typeof whatHappensSince>>,
      alive: readonly string[],
      differ: readonly string[],
    ): Promise<void> {
      const { world, control } = life!;
      const alarmed = world.lines('"alarm":"database_restored"').length;
      const blocks = commandsOf("After a restore");
      const [, , compare, cures, end] = blocks;
      expect(blocks.map(({ length }) => length)).toEqual([2, 1, 1, 6, 2]);
      writeList(alive, upgraded);
      expect(await say(`kit config push ${rotated} --yes`)).toContain("kit after-restore");
      expect(await say(`kit rotate ${rotated}`)).toContain("kit after-restore");

      const found = await say(compare![0]!);
      const places = differ.map((text) => found.indexOf(text));
      expect(places).toEqual([...places].sort((one, other) => one - other));
      expect(places[0]).toBeGreaterThan(-1);
      // A customer who comes now is served.
      const { addon } = await control.install({ plan: "basic" });
      await eventually(() => expect(life!.varsAt(addon.id)["TEAPOT_TOKEN"]).toBeDefined());
      writeList([...alive, addon.id], upgraded);

      for (const line of cures!) await say(line);
      await life!.resourceBecomes(left, { state: "deprovisioned" });
      await life!.resourceBecomes(upgraded, { plan: "premium" });
      expect(life!.varsAt(rotated)["TEAPOT_TOKEN"]).toBe(token);
      expect(retired).toEqual([]);
      expect(has).toEqual(new Set([...alive, addon.id]));

      const again = await say(end![0]!);
      expect(again).toContain("0 differences");
      expect(again).toContain("→ End the hold: kit after-restore --done");
      expect(await say(end![1]!)).toContain("The hold has ended");
      expect(world.lines('"alarm":"database_restored"')).toHaveLength(alarmed);
      // What waited is carried out, with what is true today.
      await eventually(async () =>
        expect(
          await world.rows(`SELECT uuid FROM steps WHERE kind <> 'discover' AND due_at <= now()`),
        ).toEqual([]),
      );
      expect(life!.varsAt(rotated)["TEAPOT_TOKEN"]).toBe(token);
    },

    async close(): Promise<void> {
      await life?.close().catch(() => undefined);
      await servers.close();
      process.env["TEST_SERVER_URL"] = before.server;
      process.env["TEST_TEMPLATE"] = before.template;
    },
  };
}

export type OnServersOfItsOwn = Awaited<ReturnType<typeof onServersOfItsOwn>>;
