import { ALL } from "../support/forged.ts";
import { aProcessWorld, before } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// Processes that kill themselves with SIGKILL, each during other work, and then one that is not killed and
// has to complete everything.

const life = opened(() => aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));

const DIE = `process.kill(process.pid, "SIGKILL")`;

/** Dies instead of sending an answer of this status to a request of this method, after the commit. */
const beforeAnswering = (method: string, status: number) =>
  before(`
    import { ServerResponse } from "node:http";
    const { writeHead } = ServerResponse.prototype;
    ServerResponse.prototype.writeHead = function (status, ...rest) {
      if (status === ${status} && this.req.method === "${method}") ${DIE};
      return writeHead.call(this, status, ...rest);
    };`);

/** Dies instead of sending the statement of this name to the database. */
const beforeWriting = (name: string) =>
  before(`
    import { createRequire } from "node:module";
    const { Client } = createRequire(process.argv[1])("pg");
    const { query } = Client.prototype;
    Client.prototype.query = function (asked, ...rest) {
      if (asked?.name === "${name}") ${DIE};
      return query.call(this, asked, ...rest);
    };`);

/** Runs a process until it has died during `work`. */
async function killed<Result>(how: Record<string, string>, work: () => Promise<Result>): Promise<Result> {
  const web = await life.start("web", how);
  const result = await work();
  expect(await web.ended).toBe("SIGKILL");
  return result;
}

const stateOf = async (uuid: string) => {
  const [row] = await life.world.rows(
    `SELECT r.state AS resource, r.plan, c.state, c.reason, c.generation,
       (SELECT count(*)::int FROM steps s WHERE s.uuid = r.uuid) AS steps
     FROM resources r JOIN credentials c USING (uuid) WHERE uuid = $1`,
    [uuid],
  );
  return row;
};
const installed = async (plan = "basic") => {
  const { addon, response } = await life.control.install({ plan });
  return { uuid: addon.id, status: response.status };
};
/** The number of a resource's codes that were exchanged. */
function exchanged(uuid: string): number {
  const { entries } = life.control.ledger({ reveal: true });
  const codes = entries
    .filter(({ direction, method }) => direction === "out" && method === "POST")
    .map(({ request }) => request.body as { uuid: string; oauth_grant: { code: string } })
    .flatMap((request) => (request.uuid === uuid ? [request.oauth_grant.code] : []));
  return entries.filter(({ path, request, response }) => {
    const { code = "" } = (request.body ?? {}) as { code?: string };
    return path === "/oauth/token" && codes.includes(code) && (response?.status ?? 500) < 300;
  }).length;
}

it("a process killed at any of seven moments loses no resource, and no grant except one whose tokens were not stored yet", async () => {
  await life.start();
  const [refreshed, changed, gone] = (await life.install(3)) as [string, string, string];
  await life.become([refreshed, changed, gone], 1);
  await life.killAll();

  // The tokens of a grant have arrived and are not stored: they are lost.
  const lost = await killed(beforeWriting("store_tokens"), () => installed());
  expect(lost.status).toBe(200);
  // Refreshed tokens have arrived and are not stored.
  await killed(beforeWriting("store_tokens"), () => life.makeDue([refreshed]));
  // Provisions are committed, and not yet answered.
  const unanswered = await killed(beforeAnswering("POST", 200), () =>
    Promise.all(Array.from({ length: 6 }, () => installed())),
  );
  expect(unanswered.map(({ status }) => status)).toContain(null);
  // A provision is stored, the vendor has done its work, and the result is not stored; then another one.
  const undecided = [
    await killed(beforeWriting("answer_provisions"), () => installed()),
    await killed(beforeWriting("answer_provisions"), () => installed()),
  ];
  expect(undecided.map(({ status }) => status)).toEqual([null, null]);
  // The vendor has changed the plan, and the result is not stored.
  await killed(beforeWriting("settle_steps"), () => life.control.changePlan(changed, "premium"));
  // A deprovision is committed, and not answered.
  await killed(beforeAnswering("DELETE", 204), () => life.control.deprovision(gone));
  // The platform was told that a provision is done, and that is not stored.
  const told = await killed(beforeWriting("settle_announced"), () => installed("dedicated"));
  expect(told.status).toBe(202);

  await life.start();
  // The leases of the dead processes end, and so do the five minutes of the lost grant.
  await life.world.forged.tokenLeaseIsOver();
  await life.world.forged.stepsAreDueIn(ALL, 0);
  await life.ageGrant(lost.uuid);
  // The platform repeats what was not answered: half of it with the same code, half with a new one.
  for (const [index, { uuid }] of [...unanswered, ...undecided].entries()) {
    const { response } = await life.control.redeliver(uuid, { newCode: index % 2 === 1 });
    expect([200, 202]).toContain(response.status);
  }
  expect([200, 202]).toContain((await life.control.changePlan(changed, "premium")).response.status);
  expect((await life.control.deprovision(gone)).response.status).toBe(410);

  const whole = {
    ...{ resource: "provisioned", plan: "basic", steps: 0 },
    ...{ state: "active", reason: null, generation: 1 },
  };
  const wanted: [string, object][] = [
    [lost.uuid, { ...whole, state: "grant_lost", reason: "outcome_unknown", generation: 0 }],
    [refreshed, { ...whole, generation: 2 }],
    ...[...unanswered, ...undecided].map(({ uuid }): [string, object] => [uuid, whole]),
    [changed, { ...whole, plan: "premium" }],
    [gone, { ...whole, resource: "deprovisioned", state: "erased" }],
    [told.uuid, { ...whole, plan: "dedicated" }],
  ];
  await eventually(async () => {
    for (const [uuid, state] of wanted) expect(await stateOf(uuid)).toEqual(state);
  });
  for (const { uuid } of [lost, ...unanswered, ...undecided, told]) expect(exchanged(uuid)).toBe(1);
  expect(life.control.addon(refreshed).tokens.filter(({ state }) => state === "valid")).toHaveLength(1);
});

it("a process killed in a burst of 60 provisions, while its database stores slowly, loses four grants at most", async () => {
  const slowly = before(`
    import { createRequire } from "node:module";
    const { Client } = createRequire(process.argv[1])("pg");
    const { query } = Client.prototype;
    Client.prototype.query = function (asked, ...rest) {
      if (asked?.name !== "store_tokens") return query.call(this, asked, ...rest);
      return new Promise((goOn) => setTimeout(goOn, 500)).then(() => query.call(this, asked, ...rest));
    };`);
  const web = await life.start("web", slowly);
  const since = life.position();
  const uuids = await life.install(60);
  await eventually(() => life.issuedSince(since) >= 20);
  web.signal("SIGKILL");
  await web.ended;
  await life.start();
  // The leases of the dead process end, and the grants are older than an early refusal would explain.
  await life.world.forged.grantsAreOlderBy(30);
  await life.world.forged.tokenLeaseIsOver();
  const states = () =>
    life.world.rows<{ state: string; count: number }>(
      `SELECT concat_ws(' ', state, reason) AS state, count(*)::int
       FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1 ORDER BY 1`,
      [uuids],
    );
  await eventually(async () => {
    const found = await states();
    expect(found.map(({ state }) => state)).toEqual(["active", "grant_lost outcome_unknown"]);
    expect(found[1]!.count).toBeLessThanOrEqual(4);
  });
  expect(life.issuedSince(since)).toBe(60);
});
