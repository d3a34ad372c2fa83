import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { migrate } from "../../src/database/migrate.ts";
import { aVendor } from "../support/a-vendor.ts";
import { administer, databaseUrl } from "../support/database.ts";
import { startDatabaseProxy } from "../support/database-proxy.ts";
import { kit, kitJson } from "../support/kit.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { hasPostgresql15, postgresql15 } from "../support/postgresql-15.ts";
import { eventually, QUICK } from "../support/world.ts";

// docs/operate.md, "After a restore" and "After a failover", word for word, with PostgreSQL's own programs.

const page = readFileSync(new URL("../../docs/operate.md", import.meta.url), "utf8");

/** The lines of the code blocks of a section, block by block. */
function commandsOf(section: string): string[][] {
  const [, text = ""] = page.split(`\n## ${section}\n`);
  const blocks = text.split("\n## ")[0]!.matchAll(/```sh\n([\s\S]*?)```/g);
  return [...blocks].map(([, block]) => block!.trim().split(/\n\s*/));
}

const backend = new Set<string>();
const retired: string[] = [];
const recorded = aVendor();
const credentials = new Map<string, string>();
const done = (uuid: string, plan: string) => ({
  config: {
    TEAPOT_URL: `https://${plan}.teapots.example/${uuid}`,
    TEAPOT_TOKEN: credentials.get(uuid) ?? `first-token-of-${uuid}`,
  },
  message: "It is ready.",
});
type Made = Parameters<typeof recorded.provision>[0];
/** A backend of its own, which no backup brings back: what its functions return is as it is today. */
const vendor = {
  ...recorded,
  provision: async (resource: Made) => {
    backend.add(resource.uuid);
    await recorded.provision(resource);
    return done(resource.uuid, resource.plan);
  },
  changePlan: async (resource: Made) => done(resource.uuid, resource.plan),
  deprovision: async (resource: Made) => {
    backend.delete(resource.uuid);
    return recorded.deprovision(resource);
  },
  list: async function* () {
    yield* backend;
  },
  rotation: {
    rotate: async ({ uuid, plan, idempotencyKey }: Made) => {
      const old = credentials.get(uuid) ?? `first-token-of-${uuid}`;
      credentials.set(uuid, `rotated-${idempotencyKey}`);
      return { ...done(uuid, plan), retires: old };
    },
    retire: async (_resource: Made, retires: unknown) => void retired.push(String(retires)),
  },
};
const parts = { vendor: vendor as never, pace: { ...QUICK, beatMs: 500 } };

const ifThere = hasPostgresql15 ? describe : describe.skip;

ifThere("docs/operate.md leads", () => {
  let servers: Awaited<ReturnType<typeof postgresql15>>;
  let life: LifecycleWorld | undefined;
  const before = { server: process.env["TEST_SERVER_URL"], template: process.env["TEST_TEMPLATE"] };
  let serverUrl: string;

  beforeEach(async () => {
    backend.clear();
    retired.length = 0;
    credentials.clear();
    servers = await postgresql15();
    await servers.initialise("primary");
    serverUrl = await servers.start("primary", "wal_level=replica", "max_wal_senders=4");
    await administer(serverUrl, (ask) => ask(`CREATE DATABASE template_15`));
    await migrate({ url: databaseUrl(serverUrl, "template_15") });
    process.env["TEST_SERVER_URL"] = serverUrl;
    process.env["TEST_TEMPLATE"] = "template_15";
  });
  afterEach(async () => {
    await life?.close().catch(() => undefined);
    life = undefined;
    await servers.close();
    process.env["TEST_SERVER_URL"] = before.server;
    process.env["TEST_TEMPLATE"] = before.template;
  });

  const restoreCheck = async () => {
    const { data } = await kitJson<{ checks: { id: string; ok: boolean; message: string }[] }>(
      life!.world.environment,
      ["doctor"],
    );
    return data.checks.find(({ id }) => id === "restore")!;
  };

  it("from yesterday's backup to three ledgers that agree, and what waits does no harm", async () => {
    life = await aLifecycle({ parts, environment: { LEGACY_GRANTS: "on" }, sandbox: { legacyGrants: true } });
    const { world, control } = life;
    const url = world.environment["DATABASE_URL"]!;
    const [rotated, left, upgraded, overlapping] = await Promise.all([1, 2, 3, 4].map(() => life!.settled()));
    const rotate = async (uuid: string) => {
      await kit(world.environment, ["rotate", uuid], "", parts);
      await eventually(async () => expect(await life!.steps(uuid)).toEqual(["retire"]));
    };
    await rotate(overlapping!);

    const dump = path.join(servers.folder, "backup.dump");
    await servers.program("pg_dump", "-Fc", "-f", dump, url);
    // What has happened since.
    await rotate(rotated!);
    await control.deprovision(left!);
    await life.nothingLeft(left!);
    await control.changePlan(upgraded!, "premium");
    await life.resourceBecomes(upgraded!, { plan: "premium" });
    const sold = [await life.settled(), await life.settled()];
    const token = life.varsAt(rotated!)["TEAPOT_TOKEN"];
    expect(token).toMatch(/^rotated-/);
    const alive = [rotated!, upgraded!, overlapping!, ...sold];
    writeFileSync(
      path.join(servers.folder, "uuids.txt"),
      alive.map((uuid) => JSON.stringify({ uuid, plan: uuid === upgraded ? "premium" : "basic" })).join("\n"),
    );
    chmodSync(servers.folder, 0o755);

    /** Runs a line of the page. */
    const say = async (line: string): Promise<string> => {
      const [words, file] = line.split(" < ");
      if (!line.startsWith("kit ")) {
        const env = { PATH: `${servers.bin}:${process.env["PATH"]}`, DATABASE_URL: url };
        await promisify(execFile)("/bin/sh", ["-ec", line], { cwd: servers.folder, env });
        return "";
      }
      const input = file ? readFileSync(path.join(servers.folder, file), "utf8") : "";
      const { stdout, stderr } = await kit(world.environment, words!.split(" ").slice(1), input, parts);
      return stdout + stderr;
    };
    const [restore, begin, compare, cures, end] = commandsOf("After a restore");
    expect([restore, begin, compare, cures, end].map((block) => block?.length)).toEqual([2, 1, 1, 6, 2]);

    await world.service.stop();
    for (const line of restore!) await say(line);
    const rows = <Row>(text: string) => administer(url, (ask) => ask(text)) as Promise<Row[]>;
    await rows(`UPDATE steps SET due_at = now()`);
    expect(await say("kit doctor")).toContain("was loaded from a dump");
    await world.restart();
    expect(await restoreCheck()).toMatchObject({
      ok: false,
      message: expect.stringContaining("its rows were loaded from a dump") as unknown,
    });
    expect(world.lines('"alarm":"database_restored"')).toHaveLength(1);
    expect(await say(`kit config push ${rotated} --yes`)).toContain("kit after-restore");

    const found = await say(compare![0]!);
    const places = ["unknown_here: 2,", "gone_at_platform: 1,", "config_differs: 2,", "plan_differs: 1,"].map(
      (text) => found.indexOf(text),
    );
    expect(places).toEqual([...places].sort((one, other) => one - other));
    expect(places[0]).toBeGreaterThan(-1);
    // A customer who comes now is served.
    const fresh = await control.install({ plan: "basic" });
    await eventually(() => expect(life!.varsAt(fresh.addon.id)["TEAPOT_TOKEN"]).toBeDefined());
    writeFileSync(
      path.join(servers.folder, "uuids.txt"),
      `${readFileSync(path.join(servers.folder, "uuids.txt"), "utf8")}\n${fresh.addon.id}`,
    );

    for (const line of cures!) await say(line);
    await eventually(async () =>
      expect(await rows(`SELECT state FROM resources WHERE uuid = '${left}'`)).toEqual([
        { state: "deprovisioned" },
      ]),
    );
    await eventually(async () =>
      expect(await rows(`SELECT plan FROM resources WHERE uuid = '${upgraded}'`)).toEqual([
        { plan: "premium" },
      ]),
    );
    expect(life.varsAt(rotated!)["TEAPOT_TOKEN"]).toBe(token);
    expect(retired).toEqual([]);
    expect(backend).toEqual(new Set([...alive, fresh.addon.id]));

    const again = await say(end![0]!);
    expect(again).toContain("0 differences");
    expect(again).toContain("→ End the hold: kit after-restore --done");
    expect(await say(end![1]!)).toContain("The hold has ended");
    expect(await restoreCheck()).toMatchObject({ ok: true });
    // What waited is carried out, with what is true today.
    await eventually(() => expect(retired).toEqual([`first-token-of-${overlapping}`]));
    await eventually(async () =>
      expect(await rows(`SELECT uuid FROM steps WHERE kind <> 'discover' AND due_at <= now()`)).toEqual([]),
    );
    expect(life.varsAt(rotated!)["TEAPOT_TOKEN"]).toBe(token);
  }, 300_000);

  it("after a failover to a synchronous standby: the service goes on, nothing is lost, and nothing is held", async () => {
    await servers.program(
      "pg_basebackup",
      "-D",
      servers.data("standby"),
      "-R",
      "-X",
      "stream",
      "-c",
      "fast",
      "-d",
      `${serverUrl}?application_name=standby`,
    );
    const proxy = await startDatabaseProxy(serverUrl);
    const standbyUrl = await servers.start("standby", "hot_standby=on");
    await administer(serverUrl, async (ask) => {
      await ask(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
      await ask(`SELECT pg_reload_conf()`);
      await eventually(async () =>
        expect(await ask(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).toHaveLength(1),
      );
    });
    process.env["TEST_SERVER_URL"] = proxy.url;
    try {
      life = await aLifecycle({ parts });
      const { world } = life;
      const uuids = [await life.settled(), await life.settled()];
      await servers.stop("primary", "immediate");
      await servers.promote("standby");
      proxy.leadTo(standbyUrl);
      proxy.cut();
      await eventually(() => expect(world.lines("A standby of the database was promoted")).toHaveLength(1));
      const name = new URL(world.environment["DATABASE_URL"]!).pathname.slice(1);
      const rows = (text: string) => administer(databaseUrl(standbyUrl, name), (ask) => ask(text));
      expect((await rows(`SELECT uuid FROM resources ORDER BY 1`)).map(({ uuid }) => uuid)).toEqual(
        uuids.sort(),
      );
      expect(await rows(`SELECT restored_at FROM database_history`)).toEqual([{ restored_at: null }]);
      expect(world.lines('"alarm":"database_restored"')).toEqual([]);
      const { addon } = await life.control.install({ plan: "basic" });
      await eventually(() => expect(life!.varsAt(addon.id)["TEAPOT_TOKEN"]).toBeDefined());
      const [words] = commandsOf("After a failover");
      expect(words).toEqual(["kit doctor", "kit reconcile"]);
      expect(await restoreCheck()).toMatchObject({
        ok: true,
        message: expect.stringContaining("A standby of the database was promoted") as unknown,
      });
      const { stdout } = await kit(world.environment, ["reconcile"], "", parts);
      expect(stdout).toContain("0 differences");
    } finally {
      await life?.close().catch(() => undefined);
      life = undefined;
      await proxy.close();
    }
  }, 300_000);
});
