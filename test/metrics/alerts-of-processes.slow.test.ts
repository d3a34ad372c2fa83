import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { aServer } from "../platform/local-server.ts";
import { aRow } from "../processes/rows.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../support/database-proxy.ts";
import { basic, type PartnerCalls, partnerCalls } from "../support/partner-calls.ts";
import type { ServiceProcess } from "../support/process.ts";
import { aProcessWorld, type ProcessWorld } from "../support/process-world.ts";
import { programsSelling } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { PASSWORD } from "./operator.ts";
import { aPrometheus, hasPrometheus, type Prometheus, theyRing } from "./prometheus.ts";

let life: ProcessWorld;
let proxy: DatabaseProxy;
let router: string;
let prometheus: Prometheus;
/** Where the two web processes listen. */
let urls: string[] = [];
let installing: Promise<void> = Promise.resolve();
let isRepaired = false;
/** The build of the processes that a test starts. */
const OURS = { version: "1.2.3", commit: "0123456789ab" };
/** File descriptors of the first web process. */
const MOST_FILES = 100;

(hasPrometheus ? describe : describe.skip)("two web processes behind a router", () => {
  beforeAll(async () => {
    life = await aProcessWorld({
      programs: await programsSelling("test/support/kilns/your-service"),
      environment: { METRICS_PASSWORD: PASSWORD, SWEEP_CRON: "* * * * * *" },
    });
    proxy = await startDatabaseProxy(life.world.environment["DATABASE_URL"]!);
    await startBoth();
    let turn = 0;
    ({ url: router } = await aServer(({ method, url, headers, body }, answer) => {
      const sent = request(urls[(turn += 1) % urls.length]! + url, { method, headers });
      sent.on("response", (answered) =>
        answered.pipe(answer.writeHead(answered.statusCode!, answered.headers)),
      );
      sent.on("error", () => answer.destroy()).end(body);
    }));
  });
  afterAll(async () => {
    isRepaired = true;
    await installing;
    await life.killAll();
    await proxy.close();
    await life.close();
  });

  describe("in a hurry", () => {
    watched(1);

    theyRing("one without its database", ["AddonDatabaseAway"], () => prometheus, {
      cause: async () => proxy.mode("refuse"),
      repair: async () => proxy.mode("ok"),
    });

    theyRing("a job of the service that fails each time", ["AddonYourJobsFail"], () => prometheus, {
      cause: () => runsOfTheJob(3),
      async repair() {
        await life.world.rows("CREATE TABLE coal (piece int)");
        await runsOfTheJob(0);
      },
    });

    const idle: Socket[] = [];
    theyRing(
      "one with more idle clients than it has file descriptors",
      ["AddonConnectionsFull"],
      () => prometheus,
      {
        async cause() {
          const port = Number(new URL(urls[0]!).port);
          for (let client = 0; client < MOST_FILES; client++)
            idle.push(connect(port, "127.0.0.1").on("error", () => undefined));
        },
        repair: async () => idle.forEach((client) => client.destroy()),
      },
    );

    const unknown = randomUUID();
    theyRing("both killed while another alert rings", ["AddonDown"], () => prometheus, {
      async cause() {
        await life.world.forged.aMarkIsLeft(unknown, "unknown_resource");
        await eventually(() => prometheus.fired.has("AddonUnknownResource"));
        await life.killAll();
        // "Resolved" never stands alone: the other one goes on until this one rings.
        const alone: string[][] = [];
        await eventually(async () => {
          const firing = await prometheus.firing();
          if (!firing.includes("AddonUnknownResource")) alone.push(firing);
          return prometheus.fired.has("AddonDown");
        });
        expect(alone).toEqual([]);
      },
      async repair() {
        await life.world.forged.markIsGone(unknown);
        await startBoth();
      },
    });
  });

  describe("with time for a scrape between two computations", () => {
    watched(2);

    theyRing("a function that computes", ["AddonEventLoopBlocked"], () => prometheus, {
      async cause() {
        urls = urls.slice(0, 1);
        const { provision } = partnerCalls({ sandbox: life.world.sandbox, service: { url: urls[0]! } });
        const many = () => aProvisionRequest({ plan: "clay", region: "tokyo", options: { bricks: "many" } });
        installing = (async () => {
          while (!isRepaired) {
            expect((await provision(many())).status).toBe(422);
            // Leaves the process some time for a scrape.
            await sleep(100);
          }
        })();
      },
      async repair() {
        isRepaired = true;
        await installing;
      },
    });
  });
});

(hasPrometheus ? describe : describe.skip)("what the rows of processes show", () => {
  let worker: ServiceProcess;
  let calls: PartnerCalls;
  let differing: string;
  beforeAll(async () => {
    life = await aProcessWorld({
      environment: { METRICS_PASSWORD: PASSWORD, PROCESSES_EXPECTED: "3", SWEEP_CRON: "* * * * * *" },
    });
    await life.world.forged.nothingIsLeftOf("processes");
    const web = await life.start("web");
    [router, worker] = [web.url!, await life.start("worker")];
    calls = partnerCalls({ sandbox: life.world.sandbox, service: web });
    await aRow(life.world, { ...OURS, beat: -3_600 });
  });
  afterAll(() => life.close());
  watched(1);

  theyRing(
    "a process that is killed, one that cannot start, another release with another key and a wrong clock, a plan that differs, a wrong password",
    [
      "AddonProcessMissing",
      "AddonProcessesFew",
      "AddonProcessMisconfigured",
      "AddonKeysDiffer",
      "AddonBuildsDiffer",
      "AddonClocksApart",
      "AddonPlatformPasswordWrong",
      "AddonPlanDiffers",
    ],
    () => prometheus,
    {
      async cause() {
        worker.signal("SIGKILL");
        await worker.ended;
        await life.world.forged.processIsSilent(worker.pid, 3_600);
        await aRow(life.world, { ...OURS, role: "worker", state: "misconfigured", started: 0 });
        await life.world.forged.madeUpProcessesDiffer();
        [differing] = (await life.install(1)) as [string];
        await life.world.forged.aMarkIsLeft(differing, "plan_differs", { detail: { plan: "another" } });
        const wrong = { authorization: basic(life.world.sandbox.settings.addonId, "not the password") };
        await calls.deprovision(differing, { headers: wrong });
      },
      async repair() {
        await life.world.forged.markIsGone(differing);
        await life.install(1);
        await life.world.forged.madeUpProcessesAreGone(worker.pid);
        await life.start("worker");
        await aRow(life.world, { ...OURS, beat: -3_600 });
      },
    },
  );
});

/** A Prometheus for the tests of a `describe`, which scrapes through the router. */
function watched(minuteSeconds: number): void {
  beforeAll(async () => {
    prometheus = await aPrometheus(router, minuteSeconds);
  });
  afterAll(() => prometheus.close());
}

/** Two processes instead of those that ran; the second behind the proxy, the first with few file descriptors. */
async function startBoth(): Promise<void> {
  await life.killAll();
  // Killed on purpose: they are missing for no operator.
  await life.world.forged.nothingIsLeftOf("processes");
  const both = await Promise.all([
    life.start("web", {}, MOST_FILES),
    life.start("web", { DATABASE_URL: proxy.url }),
  ]);
  urls = both.map(({ url }) => url!);
}

/** Has the job run until so many runs in a row have failed. */
async function runsOfTheJob(failures: number): Promise<void> {
  await eventually(async () => {
    const [job] = await life.world.rows<{ attempts: number }>(`SELECT attempts FROM your_jobs`);
    if (failures === 0 ? job!.attempts === 0 : job!.attempts >= failures) return true;
    await life.world.forged.idleJobsAreDue();
    return false;
  });
}
