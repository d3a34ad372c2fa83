import { aProvisionRequest } from "../support/a-provision-request.ts";
import { startDatabaseProxy, type DatabaseProxy } from "../support/database-proxy.ts";
import { partnerCalls } from "../support/partner-calls.ts";
import { aProcessWorld, type ProcessWorld } from "../support/process-world.ts";
import type { ServiceProcess } from "../support/process.ts";
import { eventually } from "../support/world.ts";

// What an outage leaves behind in the log.

interface Line {
  level: string;
  msg: string;
  [member: string]: unknown;
}

let life: ProcessWorld;
let proxy: DatabaseProxy;
let web: ServiceProcess;
beforeAll(async () => {
  life = await aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } });
  proxy = await startDatabaseProxy(life.world.environment["DATABASE_URL"]!);
  web = await life.start("web", { DATABASE_URL: proxy.url });
});
afterAll(async () => {
  await life.killAll();
  await proxy.close();
  await life.world.close();
});

/** The warnings and errors since `from`, without the lines about requests. */
const troubleSince = (from: number) =>
  web
    .output()
    .slice(from)
    .trim()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => ["warn", "error"].includes(line.level) && !("res" in line));
const messages = (lines: Line[]) => lines.map(({ msg }) => msg);

describe("an outage of the database", () => {
  const requests = [1, 2, 3].map((number) =>
    aProvisionRequest({ plan: "basic", name: `customer-${number}` }),
  );
  const calls = () => partnerCalls({ sandbox: life.world.sandbox, service: web });
  let from = 0;

  it("is logged when it begins and ends, and as one alarm; each lost provision by its name", async () => {
    from = web.output().length;
    proxy.mode("refuse");
    const answers = await Promise.all(requests.map((request) => calls().provision(request)));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    await eventually(() => expect(web.output().slice(from)).toContain(`"alarm":"database_unreachable"`));
    expect((await fetch(`${web.url}/readyz`)).status).toBe(503);
    proxy.mode("ok");
    await eventually(() => expect(web.output().slice(from)).toContain("reachable again"));
    const lines = troubleSince(from);
    const lost = lines.filter(({ msg }) => msg.startsWith("A provision is lost"));
    expect(lost.map(({ uuid }) => uuid).sort()).toEqual(requests.map(({ uuid }) => uuid).sort());
    for (const { name, plan, requestId } of lost)
      expect({ name, plan, requestId }).toEqual({
        ...{ name: expect.stringContaining("customer-"), plan: "basic", requestId: expect.any(String) },
      });
    for (const { oauth_grant: grant } of requests)
      expect(web.output()).not.toContain((grant as { code: string }).code);
    const others = lines.filter(({ alarm, msg }) => alarm !== "provision_lost" && msg !== "A request failed");
    expect(others.filter(({ alarm }) => alarm === "database_unreachable")).toHaveLength(1);
    // Every job failed each second, and has a line for each error.
    const ofJobs = others.filter(({ job }) => job).map(({ job, error }) => JSON.stringify([job, error]));
    expect(ofJobs).toHaveLength(new Set(ofJobs).size);
    expect(others.length - ofJobs.length).toBeLessThan(12);
    expect(others.at(-1)).toMatchObject({
      msg: "The database is reachable again",
      seconds: expect.any(Number),
    });
  });
});

it("an outage of the platform is logged when it begins", async () => {
  const uuids = await life.install(20);
  await life.become(uuids, 1);
  const from = web.output().length;
  life.control.fault("POST /oauth/token", { status: 503 }, 1_000_000);
  await life.makeDue(uuids);
  await eventually(async () => {
    const tried = await life.world.rows(
      `SELECT 1 FROM credentials WHERE attempts > 0 AND last_error LIKE '%503%'`,
    );
    expect(tried.length).toBeGreaterThan(3);
  });
  // Lines of the outage before, which the log takes once a minute, may come meanwhile.
  const ofTokens = () => messages(troubleSince(from)).filter((msg) => /refreshed|exchanged/.test(msg));
  await eventually(() => expect(ofTokens()).not.toEqual([]));
  expect(ofTokens().length).toBeLessThan(4);
  life.control.clearFaults();
});
