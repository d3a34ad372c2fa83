import { aProcessWorld, type ProcessWorld } from "../support/process-world.ts";
import type { ServiceProcess } from "../support/process.ts";
import { eventually } from "../support/world.ts";
import { PASSWORD } from "./operator.ts";
import { aPrometheus, hasPrometheus, theyRing, type Prometheus } from "./prometheus.ts";

let life: ProcessWorld;
let worker: ServiceProcess;
let uuids: string[];
let lost: string;
let prometheus: Prometheus;

(hasPrometheus ? describe : describe.skip)("a platform and a worker in trouble", () => {
  beforeAll(async () => {
    life = await aProcessWorld({ environment: { METRICS_PASSWORD: PASSWORD, SWEEP_CRON: "* * * * * *" } });
    const web = await life.start("web", { WEB_JOBS: "off" });
    worker = await life.start("worker");
    uuids = await life.install(20);
    await life.become(uuids, 1);
    // The circuit breaker makes a probe every 15 seconds, so 15 minutes must last longer.
    prometheus = await aPrometheus(web.url!, 2);
  });
  afterAll(async () => {
    await prometheus.close();
    await life.killAll();
    await life.world.close();
  });

  theyRing(
    "a worker that is killed during its calls, and a token endpoint that fails",
    ["AddonLeasesStolen", "AddonNeedsAttention", "AddonPlatformFails"],
    () => prometheus,
    {
      async cause() {
        life.control.fault("POST /oauth/token", { hang: true }, uuids.length);
        await life.makeDue(uuids);
        await eventually(async () =>
          expect(await life.world.rows(`SELECT 1 FROM credentials WHERE leased_until > now()`)).toHaveLength(
            uuids.length,
          ),
        );
        worker.signal("SIGKILL");
        await worker.ended;
        life.control.clearFaults();
        life.control.fault("POST /oauth/token", { status: 503 }, 1_000_000);
        // The leases last 45 seconds.
        await life.world.rows(`UPDATE credentials SET leased_until = now() WHERE leased_until > now()`);
        await life.start("worker");
        [lost] = (await life.install(1)) as [string];
        // The grant's five minutes.
        await life.world.rows(
          `UPDATE credentials SET grant_deadline = now(), due_at = now() WHERE uuid = $1`,
          [lost],
        );
      },
      async repair() {
        life.control.clearFaults();
        await life.control.deprovision(lost);
      },
    },
  );
});
