import { randomUUID } from "node:crypto";
import { refreshNow } from "../../src/credentials/pools.ts";
import { DatabaseUnavailable } from "../../src/database/retry.ts";
import { openContext } from "../../src/open-context.ts";
import { build } from "../../src/version.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { basic } from "../support/partner-calls.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually, opened, type World } from "../support/world.ts";
import { operator, PASSWORD } from "./operator.ts";

const away = () => Promise.reject(new DatabaseUnavailable("the database is away"));
const HOUR = 3_600;
let isAway = false;
/** A statement that takes too long. */
let slow = "";
const life = opened(() =>
  aLifecycle({
    environment: { OPERATOR_PASSWORD: PASSWORD },
    parts: {
      wrapDatabase: (db) => ({
        ...db,
        ping: () => (isAway ? away() : db.ping()),
        query: (...asked) => (isAway || asked[0].name === slow ? away() : db.query(...asked)),
      }),
    },
  }),
);

const rows: World["rows"] = (...asked) => life.world.rows(...asked);
/** Waits until a series has this value in a scrape. */
const becomes = (series: string, value: number | null) =>
  eventually(async () => expect((await operator(life.world).samples()).get(series) ?? null).toBe(value));
const valueOf = async (series: string) => (await operator(life.world).samples()).get(series) ?? 0;

describe("GET /metrics", () => {
  it("requires the operator's password", async () => {
    const { ask } = operator(life.world);
    for (const credentials of [null, basic("operator", "guessed"), basic("admin", PASSWORD), "Bearer x"]) {
      const refused = await ask(credentials);
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe('Basic realm="metrics"');
      expect(await refused.text()).not.toContain("addon_");
    }
    const answer = await ask(basic("operator", PASSWORD));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect((await ask(basic("operator", PASSWORD), "HEAD")).status).toBe(200);
    const wrong = await ask(basic("operator", PASSWORD), "POST");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it.each([
    { set: ["OPERATOR"], opens: { operator: [200, 200], metrics: [401, 401] } },
    { set: ["METRICS"], opens: { operator: [401, 404], metrics: [200, 404] } },
    { set: ["OPERATOR", "METRICS"], opens: { operator: [200, 200], metrics: [200, 401] } },
    { set: [], opens: { operator: [404, 404], metrics: [404, 404] } },
  ])("with $set as passwords, each user sees what is theirs", async ({ set, opens }) => {
    const of = (name: string) => (set.includes(name) ? `a-password-of-${name}` : "");
    const environment = { OPERATOR_PASSWORD: of("OPERATOR"), METRICS_PASSWORD: of("METRICS") };
    await life.world.restart({ environment });
    const seen = async (user: string, path: string) => {
      const authorization = basic(user, of(user.toUpperCase()));
      return (await fetch(life.world.service.url! + path, { headers: { authorization } })).status;
    };
    for (const [user, statuses] of Object.entries(opens))
      expect([await seen(user, "/metrics"), await seen(user, "/operator")]).toEqual(statuses);
    await life.world.restart();
  });

  it("counts the platform's requests by what they were answered", async () => {
    const answered = (method: string, route: string, status: number) =>
      `addon_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;
    const series = [200, 202, 422].map((status) => answered("POST", "/resources", status));
    const before = await Promise.all(series.map(valueOf));
    const { addon } = await life.control.install({ plan: "basic" });
    await life.settled("dedicated");
    await life.platform.provision(aProvisionRequest({ plan: "samovar" }));
    for (const [index, each] of series.entries()) await becomes(each, before[index]! + 1);

    await life.control.changePlan(addon.id, "premium");
    await becomes(answered("PUT", "/resources/:uuid", 200), 1);
    await life.control.deprovision(addon.id);
    await life.platform.deprovision(addon.id);
    await becomes(answered("DELETE", "/resources/:uuid", 204), 1);
    await becomes(answered("DELETE", "/resources/:uuid", 410), 1);
  });

  it("counts exchanges and refreshes by the platform's answer", async () => {
    const series = ["issued", "token_rejected"].map((of) => `addon_exchanges_total{result="${of}"}`);
    const before = await Promise.all(series.map(valueOf));
    life.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    const uuid = await life.settled();
    for (const [index, each] of series.entries()) await becomes(each, before[index]! + 1);
    const refreshed = await valueOf(`addon_refreshes_total{result="issued"}`);
    await life.world.forged.tokensFellDue(uuid);
    await becomes(`addon_refreshes_total{result="issued"}`, refreshed + 1);
  });

  it("counts a refresh that a process waits for when it stops", async () => {
    const issued = `addon_refreshes_total{result="issued"}`;
    const uuid = await life.settled();
    const before = await valueOf(issued);
    life.control.fault("POST /oauth/token", { delayMs: 1_000 });
    const worker = await openContext(teapotConfig({ ...life.world.environment }), teapotParts);
    worker.totals.start();
    const refreshed = refreshNow(worker, uuid);
    // The call has come.
    await eventually(() => life.control.faults().length === 0);
    await worker.close();
    expect(await refreshed).toMatchObject({ done: "stored" });
    await becomes(issued, before + 1);
  });

  it("measures requests by route and endpoint, with no label from a request", async () => {
    const uuid = await life.settled();
    await life.platform.deprovision("no-uuid-at-all", { headers: { authorization: null } });
    const nowhere = [`/${uuid}`, `/resources-${uuid}?a=${uuid}`, "/operatorial", "/metrics.txt"];
    for (const path of [...nowhere, "/oauth/anything", "/ReSources"])
      await fetch(life.world.service.url + path, { method: "PROPFIND" });
    const count = "addon_http_request_duration_seconds_count";
    await becomes(`${count}{method="other",route="other",status="404"}`, nowhere.length);
    expect(await valueOf(`${count}{method="other",route="/oauth",status="404"}`)).toBe(1);
    expect(await valueOf(`${count}{method="DELETE",route="/resources",status="401"}`)).toBe(1);
    const text = await operator(life.world).metrics();
    const labels = (name: string) => [
      ...new Set([...text.matchAll(new RegExp(`[{,]${name}="([^"]*)"`, "g"))].map(([, value]) => value!)),
    ];
    const routes = ["/resources", "/resources/:uuid", "/operator", "/metrics", "/healthz", "/oauth", "other"];
    expect(labels("route").filter((route) => !routes.includes(route))).toEqual([]);
    expect(labels("route")).toEqual(expect.arrayContaining(["/resources", "/resources/:uuid", "other"]));
    expect(labels("endpoint")).toEqual(
      expect.arrayContaining(["POST /oauth/token", "GET /addons/:id", "GET /addons/:id/addon-attachments"]),
    );
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
    expect(text).not.toContain("teapots");
  });

  it("reports the backlog, the states, the age of tokens and the sweeps from the rows", async () => {
    const [uuid] = [await life.settled(), await life.settled()];
    const lost = randomUUID();
    const { forged } = life.world;
    await forged.aResourceIsStored({ uuid: lost, credential: "grant_lost", reason: "outcome_unknown" });
    await forged.tokensAreFrom(uuid, 6 * HOUR);
    await forged.tokensAreDueIn(uuid, null);
    await forged.jobLastRan("find-late-steps", 2 * HOUR);
    // One that cannot be refreshed, and a job of another build.
    const ageing = await life.settled();
    await forged.refreshTokenIsMissing(ageing);
    await forged.tokensAreFrom(ageing, 240 * HOUR);
    await forged.jobLastRan("retired", 240 * HOUR);
    const attention = `addon_credentials_needing_attention{state="grant_lost",reason="outcome_unknown"}`;
    await becomes(attention, 1);
    const samples = await operator(life.world).samples();
    const [actual] = await rows<{ active: number; young: number }>(
      `SELECT count(*)::int AS active, count(*) FILTER (WHERE issued_at > now() - interval '5 hours')::int AS young
       FROM credentials WHERE state = 'active' AND uuid <> $1`,
      [ageing],
    );
    expect(actual!.young).toBeGreaterThan(0);
    expect(samples.get(`addon_credentials{state="active"}`)).toBe(actual!.active + 1);
    expect(samples.get(`addon_credentials{state="grant_lost"}`)).toBe(1);
    expect(samples.get(`addon_token_age_seconds_bucket{le="18000"}`)).toBe(actual!.young);
    expect(samples.get(`addon_token_age_seconds_bucket{le="+Inf"}`)).toBe(actual!.active);
    expect(samples.get(`addon_due{queue="grants"}`)).toBe(0);
    expect(samples.get(`addon_client_secret_rejected`)).toBe(0);
    expect(samples.get(`addon_sweep_age_seconds{sweep="exchange-grants"}`)).toBeLessThan(60);
    expect(samples.get(`addon_sweep_age_seconds{sweep="retired"}`)).toBeUndefined();
    expect(samples.get(`addon_database_up`)).toBe(1);
    expect(samples.get(`process_resident_memory_bytes`)).toBeGreaterThan(1e6);
    expect(samples.get(`addon_database_waiting`)).toEqual(expect.any(Number));
    const { version, commit, node } = build;
    expect(samples.get(`addon_build_info{version="${version}",commit="${commit}",node="${node}"}`)).toBe(1);
  });

  it("reports the age of a grant that is retried in vain, but not of one that is refused", async () => {
    const uuid = await life.settled();
    await life.world.forged.isRefused(uuid);
    await life.world.forged.grantIsPending(uuid, { leftSeconds: 205, inSeconds: 60 });
    expect(await valueOf("addon_grant_age_seconds")).toBe(0);
    await life.world.forged.isRefused(uuid, false);
    await eventually(async () => {
      const age = await valueOf("addon_grant_age_seconds");
      expect(age).toBeGreaterThanOrEqual(100);
      expect(age).toBeLessThan(140);
    });
    expect(await valueOf(`addon_due_age_seconds{queue="grants"}`)).toBe(0);
    await life.world.forged.grantIsExchanged(uuid);
  });

  it("does not report a step as late that waits behind an earlier one of its resource", async () => {
    const [busy, late] = [await life.settled(), await life.settled()];
    // No process takes them up meanwhile.
    await life.world.restart({ environment: { WEB_JOBS: "off" } });
    const { forged } = life.world;
    await forged.aStepIsLeft({ uuid: busy, kind: "finish", inSeconds: HOUR });
    await forged.aStepIsLeft({ uuid: busy, kind: "change_plan", inSeconds: -1_200 });
    await forged.aStepIsLeft({ uuid: late, kind: "change_plan", inSeconds: -120 });
    await becomes(`addon_due{queue="steps"}`, 1);
    expect(await valueOf(`addon_due_age_seconds{queue="steps"}`)).toBeLessThan(300);
    await forged.stepsAreDone("finish");
    await becomes(`addon_due{queue="steps"}`, 2);
    expect(await valueOf(`addon_due_age_seconds{queue="steps"}`)).toBeGreaterThanOrEqual(1_200);
    // Nor a step that waited behind another, once it is being worked on.
    await forged.stepsAreTaken(busy, 60);
    await becomes(`addon_due{queue="steps"}`, 1);
    expect(await valueOf(`addon_due_age_seconds{queue="steps"}`)).toBeLessThan(300);
    await forged.nothingIsLeftOf("steps");
    await life.world.restart();
  });

  it("while the database is away, reports it and lowers no counter; what was counted meanwhile is reported once", async () => {
    // A path of one's own changes no label.
    const environment = { WEB_JOBS: "off", RESOURCES_PATH: "/v2/addon" };
    await life.world.restart({ environment });
    const refused = `addon_http_request_duration_seconds_count{method="POST",route="/resources",status="401"}`;
    const before = await valueOf(refused);
    const turnedAway = async () =>
      expect((await fetch(`${life.world.service.url}/v2/addon`, { method: "POST" })).status).toBe(401);
    await turnedAway();
    await becomes(refused, before + 1);
    isAway = true;
    await becomes("addon_database_up", 0);
    const left = [...(await operator(life.world).samples()).keys()];
    expect(left).toContain("process_resident_memory_bytes");
    expect(left.filter((name) => name.startsWith("addon_exchanges_total"))).toEqual([]);
    await turnedAway();
    isAway = false;
    await becomes(refused, before + 2);
    await life.world.restart({ environment });
    await turnedAway();
    await becomes(refused, before + 3);
  });

  it("lacks a part that takes too long to read, and no other", async () => {
    slow = "metrics_credentials";
    await becomes(`addon_credentials{state="active"}`, null);
    const left = await operator(life.world).samples();
    expect([left.get("addon_database_up"), left.get(`addon_due{queue="grants"}`)]).toEqual([1, 0]);
    slow = "";
    await life.world.restart();
  });
});
