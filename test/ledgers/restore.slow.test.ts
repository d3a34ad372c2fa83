import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { administer, databaseUrl, impatient } from "../support/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../support/database-proxy.ts";
import { ALL } from "../support/forged.ts";
import { kit } from "../support/kit.ts";
import { hasPostgresql15 } from "../support/postgresql-15.ts";
import { eventually } from "../support/world.ts";
import { commandsOf, type OnServersOfItsOwn, onServersOfItsOwn } from "./of-the-page.ts";

// docs/operate.md, "After a restore" and "After a failover", word for word, with PostgreSQL's own programs.

const ifThere = hasPostgresql15 ? describe : describe.skip;

ifThere("docs/operate.md leads", () => {
  let own: OnServersOfItsOwn;
  const proxies: DatabaseProxy[] = [];
  const proxyTo = async (url: string) => {
    const proxy = await startDatabaseProxy(url);
    proxies.push(proxy);
    return proxy;
  };
  beforeEach(async () => {
    own = await onServersOfItsOwn();
  });
  afterEach(async () => {
    await own.close();
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  });

  const said = (text: string) => expect.stringContaining(text) as unknown;
  const DIFFER = ["unknown_here: 2,", "gone_at_platform: 1,", "config_differs: 2,", "plan_differs: 1,"];

  it("from yesterday's backup to three ledgers that agree, and what waits does no harm", async () => {
    const life = await own.open(await own.startPrimary());
    const { world } = life;
    const [rotated, left, upgraded, overlapping] = await Promise.all([1, 2, 3, 4].map(() => life.settled()));
    await own.rotate(overlapping!);

    const dump = path.join(own.servers.folder, "backup.dump");
    await own.servers.program("pg_dump", "-Fc", "-f", dump, impatient(world.environment["DATABASE_URL"]!));
    const since = await own.whatHappensSince(rotated!, left!, upgraded!);

    await world.service.stop();
    for (const line of commandsOf("After a restore")[0]!) await own.say(line);
    await administer(world.environment["DATABASE_URL"]!, (ask) => ask(`UPDATE steps SET due_at = now()`));
    expect(await own.say("kit doctor")).toContain("was loaded from a dump");
    await world.restart();
    expect(await own.restoreCheck()).toMatchObject({
      ok: false,
      message: said("its rows were loaded from a dump"),
    });
    await own.leadsOut(since, [rotated!, upgraded!, overlapping!, ...since.sold], DIFFER);
    expect(await own.restoreCheck()).toMatchObject({ ok: true });
    await eventually(() => expect(own.retired).toEqual([`first-token-of-${overlapping}`]));
  }, 300_000);

  /** A base backup of the server at `from`, which follows it. */
  async function aStandby(from: string): Promise<string> {
    const { program, data, start } = own.servers;
    const words = ["-R", "-X", "stream", "-c", "fast", "-d", `${from}?application_name=standby`];
    await program("pg_basebackup", "-D", data("standby"), ...words);
    return start("standby", "hot_standby=on");
  }

  it("after a failover to a synchronous standby: the service goes on, nothing is lost, and nothing is held", async () => {
    const serverUrl = await own.startPrimary();
    const proxy = await proxyTo(serverUrl);
    const standbyUrl = await aStandby(serverUrl);
    await administer(serverUrl, async (ask) => {
      await ask(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
      await ask(`SELECT pg_reload_conf()`);
      await eventually(async () =>
        expect(await ask(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).toHaveLength(1),
      );
    });
    const life = await own.open(proxy.url);
    const { world } = life;
    const uuids = [await life.settled(), await life.settled()];
    await own.servers.stop("primary", "immediate");
    await own.servers.promote("standby");
    proxy.leadTo(standbyUrl);
    proxy.cut();
    await eventually(() => expect(world.lines("A standby of the database was promoted")).toHaveLength(1));
    expect((await world.rows<{ uuid: string }>(`SELECT uuid FROM resources ORDER BY 1`)).map(({ uuid }) => uuid)).toEqual(uuids.sort()); // prettier-ignore
    expect(await world.rows(`SELECT restored_at FROM database_history`)).toEqual([{ restored_at: null }]);
    expect(world.lines('"alarm":"database_restored"')).toEqual([]);
    await life.settled();
    const [words] = commandsOf("After a failover");
    expect(words).toEqual(["kit doctor", "kit reconcile"]);
    expect(await own.restoreCheck()).toMatchObject({
      ok: true,
      message: said("A standby of the database was promoted"),
    });
    const { stdout } = await kit(world.environment, ["reconcile"], "", own.parts);
    expect(stdout).toContain("0 differences");
  }, 300_000);

  it("after a failover to a standby that lacks the last moments, which the service notices as it runs", async () => {
    const serverUrl = await own.startPrimary();
    const proxy = await proxyTo(serverUrl);
    const replication = await proxyTo(serverUrl);
    const standbyUrl = await aStandby(replication.url);
    const life = await own.open(proxy.url);
    const { world } = life;
    const [rotated, left, upgraded] = await Promise.all([1, 2, 3].map(() => life.settled()));
    const name = new URL(world.environment["DATABASE_URL"]!).pathname.slice(1);
    const there = (text: string) => administer(databaseUrl(standbyUrl, name), (ask) => ask(text));
    await eventually(async () => expect(await there(`SELECT 1 FROM resources WHERE state = 'provisioned' AND NOT EXISTS (SELECT FROM steps)`)).toHaveLength(3)); // prettier-ignore
    replication.mode("refuse");
    const since = await own.whatHappensSince(rotated!, left!, upgraded!);
    const BEATS = `SELECT max(beats)::int AS beats FROM processes`;
    const [{ beats: lacks }] = (await there(BEATS)) as [{ beats: number }];
    await eventually(async () => (await world.rows<{ beats: number }>(BEATS))[0]!.beats > lacks + 3);

    await own.servers.stop("primary", "immediate");
    await own.servers.promote("standby");
    proxy.leadTo(standbyUrl);
    proxy.cut();
    await eventually(() => expect(world.lines('"alarm":"database_restored"')).toHaveLength(1));
    expect(await own.restoreCheck()).toMatchObject({
      ok: false,
      message: expect.stringMatching(/it lacks the last \d+ beats of a process that runs/),
    });
    await own.leadsOut(since, [rotated!, upgraded!, ...since.sold], DIFFER);
  }, 300_000);

  it.each([
    ["runs", /it lacks the last \d+ beats of a process that runs/],
    ["is started afterwards", /it was recovered to a point in time/],
  ])(
    "from a recovery to a moment ago, which a service notices that %s",
    async (which, because) => {
      const { folder, program, data, start, stop } = own.servers;
      const archive = `'mkdir -p ${folder}/archive && cp %p ${folder}/archive/%f'`;
      const serverUrl = await own.startPrimary("archive_mode=on", `archive_command=${archive}`);
      const proxy = await proxyTo(serverUrl);
      const life = await own.open(proxy.url);
      const { world } = life;
      await program("pg_basebackup", "-D", data("base"), "-c", "fast", "-d", serverUrl);
      const [rotated, left, upgraded] = await Promise.all([1, 2, 3].map(() => life.settled()));
      const [{ target }] = (await world.rows(`SELECT clock_timestamp()::text AS target`)) as [
        { target: string },
      ];
      const BEATS = `SELECT max(beats)::int AS beats FROM processes`;
      const beats = async () => (await world.rows<{ beats: number }>(BEATS))[0]!.beats;
      const atTarget = await beats();
      const since = await own.whatHappensSince(rotated!, left!, upgraded!);
      await eventually(async () => (await beats()) > atTarget + 3);

      if (which !== "runs") await world.service.stop();
      await stop("primary");
      const settings = [
        `restore_command='cp ${folder}/archive/%f %p'`,
        `recovery_target_time='${target}'`,
        "recovery_target_action=promote",
      ];
      writeFileSync(path.join(data("base"), "recovery.signal"), "", { mode: 0o666 });
      const url = await start("base", ...settings);
      await administer(url, (ask) =>
        eventually(async () =>
          expect(await ask(`SELECT pg_is_in_recovery() AS recovers`)).toEqual([{ recovers: false }]),
        ),
      );
      proxy.leadTo(url);
      if (which !== "runs") await world.restart();
      await eventually(() => expect(world.lines('"alarm":"database_restored"')).toHaveLength(1));
      expect(await own.restoreCheck()).toMatchObject({
        ok: false,
        message: expect.stringMatching(because) as unknown,
      });
      await own.leadsOut(since, [rotated!, upgraded!, ...since.sold], DIFFER);
    },
    600_000,
  );

  it("from a copy of the disk that was put back while no process ran, which the daily looks make suspect", async () => {
    const { data, start, stop } = own.servers;
    const proxy = await proxyTo(await own.startPrimary());
    const life = await own.open(proxy.url);
    const { world } = life;
    const [rotated, left, other, upgraded] = await Promise.all([1, 2, 3, 4].map(() => life.settled()));
    const whileStopped = async (work: () => Promise<string>) => {
      await world.service.stop();
      await stop("primary").catch(() => undefined);
      proxy.leadTo(await work());
    };
    await whileStopped(async () => {
      await promisify(execFile)("cp", ["-a", data("primary"), data("copy")]);
      return start("primary");
    });
    await world.restart();
    const since = await own.whatHappensSince(rotated!, left!, upgraded!);
    await life.control.deprovision(other!);
    await life.nothingLeft(other!);

    await whileStopped(() => start("copy"));
    // As old as yesterday's.
    await world.forged.lookedAtHoursAgo(ALL);
    await world.forged.resourceIsQuietFor(ALL, 25 * 3_600);
    await world.restart();
    await eventually(() => expect(world.lines('"alarm":"restore_suspected"')).toHaveLength(1));
    expect(await own.restoreCheck()).toMatchObject({
      ok: false,
      message: said("Was it restored while no process ran?"),
    });
    expect(world.lines('"alarm":"database_restored"')).toEqual([]);
    expect(await own.say(commandsOf("After a restore")[1]![0]!)).toContain("an operator said so");
    const differ = DIFFER.map((text) => text.replace("platform: 1", "platform: 2"));
    await own.leadsOut(since, [rotated!, upgraded!, ...since.sold], differ);
    expect(await own.restoreCheck()).toMatchObject({ ok: true });
  }, 300_000);
});
