import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../src/database/database.ts";
import { positional } from "../../src/database/statement.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { kitJson } from "../support/kit.ts";
import { type PartnerCalls, partnerCalls } from "../support/partner-calls.ts";
import type { ServiceProcess } from "../support/process.ts";
import { aProcessWorld, type ProcessWorld } from "../support/process-world.ts";
import { PASSWORD } from "./operator.ts";
import { aPrometheus, hasPrometheus, type Prometheus, theyRing } from "./prometheus.ts";

let life: ProcessWorld;
let web: ServiceProcess;
let worker: ServiceProcess;
let prometheus: Prometheus;

(hasPrometheus ? describe : describe.skip)("a web process and a worker", () => {
  beforeAll(async () => {
    life = await aProcessWorld({ environment: { METRICS_PASSWORD: PASSWORD, SWEEP_CRON: "* * * * * *" } });
    web = await life.start("web", { WEB_JOBS: "off" });
    worker = await life.start("worker");
  });
  afterAll(() => life.close());

  describe("while the platform is in trouble", () => {
    let uuids: string[];
    let lost: string;
    beforeAll(async () => {
      uuids = await life.install(20);
      await life.become(uuids, 1);
      // The circuit breaker makes a probe every 15 seconds, so 15 minutes must last longer.
      prometheus = await aPrometheus(web.url!, 2);
    });
    afterAll(() => prometheus.close());

    theyRing("a token endpoint that fails", ["AddonPlatformFails", "AddonGrantLost"], () => prometheus, {
      async cause() {
        life.control.fault("POST /oauth/token", { reset: "after" });
        [lost] = (await life.install(1)) as [string];
        await life.becomes(lost, { isUnknown: true });
        await life.ageGrant(lost);
        life.control.fault("POST /oauth/token", { status: 503 }, 1_000_000);
        await life.makeDue(uuids);
      },
      async repair() {
        life.control.clearFaults();
        await life.control.deprovision(lost);
      },
    });
  });

  describe("while the service cannot read its totals", () => {
    beforeAll(async () => void (prometheus = await aPrometheus(web.url!, 1)));
    afterAll(() => prometheus.close());

    theyRing("a part of the metrics is missing", ["AddonMetricsMissing"], () => prometheus, {
      cause: () => life.world.rows("ALTER TABLE metric_totals RENAME TO out_of_reach"),
      repair: () => life.world.rows("ALTER TABLE out_of_reach RENAME TO metric_totals"),
    });
  });

  describe("while work waits and requests fail", () => {
    let platform: PartnerCalls;
    let older: string;
    let newSecret: string;
    let ungranted: string;
    const unknown = randomUUID();
    let under: Promise<unknown> = Promise.resolve();
    let isRepaired = false;
    beforeAll(async () => {
      platform = partnerCalls({ sandbox: life.world.sandbox, service: web });
      [older] = (await life.install(1)) as [string];
      await life.become([older], 1);
      prometheus = await aPrometheus(web.url!, 1);
    });
    afterAll(async () => {
      isRepaired = true;
      await under;
      await prometheus.close();
    });

    theyRing(
      "jobs that stand still, a new client secret, a row that another session locks",
      [
        "AddonAlarm",
        "AddonProvisionsFail",
        "AddonClientSecretRejected",
        "AddonGrantsWait",
        "AddonSweepsLate",
        "AddonUpkeepLate",
        "AddonStepsWait",
        "AddonNeedsAttention",
        "AddonRefreshesWait",
        "AddonTokensOld",
        "AddonAnswersSlow",
        "AddonYourServiceFails",
        "AddonYourServiceHangs",
        "AddonWrongPasswords",
        "AddonGoneAtPlatform",
        "AddonUnknownResource",
        "AddonDatabaseRestored",
      ],
      () => prometheus,
      {
        async cause() {
          const wrong = { headers: { authorization: "Basic eDp5" } };
          // One after the other, each would wait for its refusal.
          await Promise.all(Array.from({ length: 200 }, () => platform.deprovision(older, wrong)));
          await platform.changePlan(unknown, { plan: "premium" });
          await life.world.forged.aMarkIsLeft(older, "gone_at_platform");
          await life.world.forged.wasRestored(365 * 24 * 3_600);
          worker.signal("SIGSTOP");
          newSecret = life.control.resetClientSecret().secret;
          const { oauth_grant: _, ...withoutGrant } = aProvisionRequest({ plan: "basic" });
          ungranted = withoutGrant.uuid;
          await platform.provision(withoutGrant);
          await life.install(1);
          await life.control.changePlan(older, "dedicated");
          await life.world.forged.activeTokensAreFrom(8 * 3_600);
          await life.world.forged.activeTokensAreLateBy(3_600);
          await life.world.forged.plannedStepsAreLateBy(3_600);
          // A call that failed, and one that a process is making since an hour ago.
          const cleanUp = { uuid: older, kind: "clean_up", inSeconds: -3_600, attempts: 1 };
          const lastError = "The kiln is cold.";
          await life.world.forged.aStepIsLeft({ ...cleanUp, lastError, leaseSeconds: 0 });
          await life.world.forged.aStepIsLeft({ ...cleanUp, leaseSeconds: 3_600 });
          const again = async () => {
            while (!isRepaired) await provisionWhileLocked(platform);
          };
          under = Promise.all([again(), sleep(LOCKED_MS / 2).then(again)]);
        },
        async repair() {
          isRepaired = true;
          await life.world.forged.cleanUpsAreFree();
          await under;
          worker.signal("SIGCONT");
          await platform.deprovision(ungranted);
          await life.world.forged.markIsGone(older);
          await kitJson(life.world.environment, ["after-restore", "--done", "--yes"]);
          await kitJson(life.world.environment, ["resources", "erase", unknown, "--yes"]);
          await kitJson(life.world.environment, ["secret", "set", "--no-wait"], newSecret);
        },
      },
    );
  });
});

/** Longer than a request waits for the database. */
const LOCKED_MS = 9_000;

/** Another session holds the row for a while. */
async function provisionWhileLocked(platform: PartnerCalls): Promise<void> {
  const uuid = randomUUID();
  const db = openDatabase({ url: life.world.environment["DATABASE_URL"]!, poolSize: 1 });
  const insert = positional(
    "test_hold_resource",
    `INSERT INTO resources (uuid, plan, applied_plan, state) VALUES ($1, 'basic', 'basic', 'provisioned')`,
  );
  let request: Promise<unknown> = Promise.resolve();
  await db
    .transaction(async (tx) => {
      await tx.query(insert, [uuid]);
      request = platform.provision(aProvisionRequest({ uuid, plan: "basic" }));
      await sleep(LOCKED_MS);
      throw new Error("rolled back");
    })
    .catch(() => undefined);
  await request;
  await db.close();
}
