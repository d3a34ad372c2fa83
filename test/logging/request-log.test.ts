import { connect } from "node:net";
import type { Extensions } from "../../src/extend/contract.ts";
import { aBrowser } from "../people/browser.ts";
import { SALT } from "../people/customers.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually, opened } from "../support/world.ts";

const life = opened(() => aLifecycle({ sandbox: { ssoSalt: SALT } }));

interface Line {
  msg: string;
  uuid?: string;
  requestId?: string;
  req?: { id: string };
}

const lines = () => life.world.lines().map((line) => JSON.parse(line) as Line);
/** What the log says of a request, and of work that followed from it. */
const toldOf = (id: string) =>
  lines().flatMap(({ msg, req, requestId }) => ((req?.id ?? requestId) === id ? [msg] : []));

/** The id of the sandbox's last request. */
const lastRequest = () =>
  life.entries().findLast(({ direction }) => direction === "out")!.response!.headers["request-id"] as string;

describe("a request's id", () => {
  it("is in all log lines from a provision to its stored tokens and config", async () => {
    const uuid = await life.settled("dedicated");
    const { request, response } = life
      .entries()
      .find(({ path, direction }) => direction === "out" && path === "/resources")!;
    expect((request.body as { uuid: string }).uuid).toBe(uuid);
    const id = response!.headers["request-id"] as string;
    const all = [
      "Found the attached apps",
      "Grant exchanged, tokens sealed",
      "POST answered 202",
      "The platform has the config vars",
    ];
    // The last step is gone a moment before its line is written.
    await eventually(() => expect(toldOf(id).sort()).toEqual(all));
    // Every log line of this resource has it.
    expect(lines().filter((line) => line.uuid === uuid && line.requestId !== id)).toEqual([]);
  });

  it("differs for each request of a resource, and stays with the steps of that request", async () => {
    const uuid = await life.settled();
    const provisioned = lastRequest();
    life.vendor.next("changePlan", () => Promise.reject(new Error("The kiln is cold.")));
    await life.control.changePlan(uuid, "premium");
    const changed = lastRequest();
    await eventually(() =>
      expect(toldOf(changed)).toContain("Step failed or was aborted; it will be retried"),
    );
    await life.hurry(uuid);
    await eventually(() => expect(toldOf(changed)).toContain("The platform has the config vars"));
    life.vendor.next("deprovision", () => Promise.reject(new Error("The kettle is full.")));
    await life.control.deprovision(uuid);
    const gone = lastRequest();
    await eventually(() => expect(toldOf(gone)).toContain("Step failed or was aborted; it will be retried"));
    expect(new Set([provisioned, changed, gone]).size).toBe(3);
    expect(toldOf(provisioned)).not.toContain("Step failed or was aborted; it will be retried");
  });

  it("is that of the request that brought the code, when a code was delivered again", async () => {
    life.control.fault("POST /oauth/token", { status: 503 });
    const first = aProvisionRequest();
    await life.platform.provision(first, { headers: { "request-id": "the-first-request" } });
    const again = { ...first, oauth_grant: aProvisionRequest()["oauth_grant"] };
    await life.platform.provision(again, { headers: { "request-id": "the-second-request" } });
    expect(toldOf("the-second-request")).toContain("A repeated provision brought a new grant");
    await eventually(() =>
      expect(toldOf("the-second-request")).toContain("Exchange of a grant failed; it will be retried"),
    );
  });

  it.each([
    ["Request-Id", "abc-DEF_0123456789", true],
    ["X-Request-Id", "abc-DEF_0123456789", true],
    ["Request-Id", "short", false],
    ["Request-Id", "x".repeat(65), false],
    ["Request-Id", 'a "quoted" one', false],
  ])("comes from %s: %s, if it is valid in a log (%s)", async (header, given, isTaken) => {
    const answer = await fetch(`${life.world.service.url}/nowhere`, { headers: { [header]: given } });
    const id = answer.headers.get("request-id")!;
    expect(id === given).toBe(isTaken);
    expect(id).toMatch(/^[\w-]{8,64}$/);
    expect(toldOf(id)).toContain("GET answered 404");
  });
});

it("a request whose caller leaves before the answer is logged as not answered", async () => {
  const { addonId, addonPassword } = life.world.sandbox.settings;
  const { hostname, port } = new URL(life.world.service.url!);
  const socket = connect(Number(port), hostname);
  const head = `POST /resources?code=1 HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(addonId, addonPassword)}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`, () => socket.destroy());
  const [line] = await eventually(() => {
    const found = life.world.lines("the caller went away");
    return found.length > 0 ? found : null;
  });
  expect(JSON.parse(line!)).toMatchObject({
    ...{ level: "warn", msg: "POST was not answered: the caller went away" },
    ...{ req: { method: "POST", path: "/resources" }, res: { status: null }, ms: expect.any(Number) },
  });
});

// Whatever a stranger is answered by the thousand, the log has one line of it in a while.

describe("what is answered", () => {
  const MANY = 10;
  const PASSWORD = "a-password-of-the-operator";
  const routes: Extensions["routes"] = (router) => {
    router.get("/yours", (request, response) => {
      if (request.query["from"] === "a known one") response.locals["isAuthenticated"] = true;
      response.json("done");
    });
  };

  beforeAll(() => {
    Object.assign(life.vendor, { routes });
    return life.world.restart({
      environment: {
        ...{ OPERATOR_PASSWORD: PASSWORD, SSO_SALT: SALT },
        ...{ OAUTH_CLIENT_ID: "a-client", OAUTH_CLIENT_SECRET: "a-secret-of-the-client" },
      },
      parts: { pace: { lastOrdersMs: 25, refusalMs: 0, logAgainMs: 600_000 } },
    });
  });

  async function ask(path: string, status: number, init: RequestInit = {}): Promise<void> {
    for (let asked = 0; asked < MANY; asked++) {
      const answer = await fetch(life.world.service.url + path, { redirect: "manual", ...init });
      expect([path, answer.status]).toEqual([path, status]);
      await answer.arrayBuffer();
    }
  }

  it.each<[string, string, number, RequestInit]>([
    ["a wrong password", "/resources", 401, { method: "POST", headers: { authorization: basic("a", "x") } }],
    ["a forged sign-on", "/sso/login", 403, { method: "POST", body: new URLSearchParams({ a: "b" }) }],
    ["what is not there", "/nothing", 404, {}],
    ["an address that cannot be read", "/customer/%", 400, {}],
  ])("%s: a sample is logged, with the address", async (_, path, status, init) => {
    await ask(path, status, init);
    const lines = () => life.world.lines(`"path":"${path}`, `"status":${status}`);
    await eventually(() => expect(lines()).toHaveLength(1));
    expect(JSON.parse(lines()[0]!)).toMatchObject({ address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) });
  });

  it.each([
    ["a sign-in that was begun", "/oauth/login?a=b", 303],
    ["the stylesheet", "/assets/style.css?v=1", 200],
    ["a route of the vendor's", "/yours?a=b", 200],
  ])("%s: a sample is logged of those of strangers", async (_, path, status) => {
    await ask(path, status);
    // These are logged each time, after the ones above.
    const known = () => life.world.lines('"path":"/metrics"').length;
    const before = known();
    await ask("/metrics", 200, { headers: { authorization: basic("operator", PASSWORD) } });
    await eventually(() => expect(known() - before).toBe(MANY));
    const lines = life.world.lines(`"path":"${path.split("?")[0]}"`, `"status":${status}`);
    expect(lines.length).toBeLessThanOrEqual(1);
  });

  it.each(["/healthz", "/healthz?a=b", "/readyz", "/readyz?a"])("%s: nothing is logged", async (path) => {
    await ask(path, 200);
    expect(life.world.lines(`"path":"${path.split("?")[0]}"`)).toEqual([]);
  });

  it("a customer and a caller whom the vendor knows are logged each time", async () => {
    const uuid = await life.settled("basic");
    const browser = aBrowser(() => life.world.service.url!);
    const { form } = life.control.signOnForm(uuid);
    await browser.post("/sso/login", {}, new URLSearchParams({ ...form }));
    for (let asked = 0; asked < MANY; asked++)
      expect((await browser.get(`/customer/${uuid}`)).status).toBe(200);
    await browser.post(`/customer/${uuid}/sign-out`);
    await ask("/yours?from=a%20known%20one", 200);
    await eventually(() => {
      expect(life.world.lines(`"path":"/customer/${uuid}"`, '"status":200')).toHaveLength(MANY);
      expect(life.world.lines('"path":"/sso/login"', '"status":303')).toHaveLength(1);
      expect(life.world.lines(`"path":"/customer/${uuid}/sign-out"`, '"status":303')).toHaveLength(1);
      expect(life.world.lines('"path":"/yours"').length).toBeGreaterThanOrEqual(MANY);
    });
  });

  it("wrong passwords are counted by what they would open, and right ones pass beside them", async () => {
    const wrong = { headers: { authorization: basic("operator", "a-guess") } };
    await ask("/metrics", 401, wrong);
    await ask("/operator/resources", 401, wrong);
    await eventually(async () => {
      const headers = { authorization: basic("operator", PASSWORD) };
      const scraped = await (await fetch(`${life.world.service.url}/metrics`, { headers })).text();
      for (const door of ["platform", "operator", "metrics"])
        expect(scraped).toContain(`addon_wrong_passwords_total{door="${door}"} ${MANY}\n`);
    });
  });

  it("what the platform is not answered is logged each time, with its error", async () => {
    const { addonId, addonPassword } = life.world.sandbox.settings;
    const path = "/resources/01234567-89ab-4cde-8f01-23456789abcd";
    await life.world.rows("ALTER TABLE resources RENAME TO gone");
    await ask(path, 500, { method: "DELETE", headers: { authorization: basic(addonId, addonPassword) } });
    await life.world.rows("ALTER TABLE gone RENAME TO resources");
    await eventually(() => expect(life.world.lines(`"path":"${path}"`, `"status":500`)).toHaveLength(MANY));
    expect(life.world.lines("A request failed", "does not exist")).toHaveLength(MANY);
  });

  it("what the platform and operators are refused is logged each time", async () => {
    const { addonId, addonPassword } = life.world.sandbox.settings;
    const refusals: [path: string, method: string, authorization: string][] = [
      ["/resources", "PATCH", basic(addonId, addonPassword)],
      ["/metrics", "DELETE", basic("operator", PASSWORD)],
      ["/operator/resources", "DELETE", basic("operator", PASSWORD)],
    ];
    for (const [path, method, authorization] of refusals) {
      await ask(path, 405, { method, headers: { authorization } });
      await eventually(() => expect(life.world.lines(`"path":"${path}"`, `"status":405`)).toHaveLength(MANY));
    }
  });
});
