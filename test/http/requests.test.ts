import express from "express";
import type { Extensions } from "../../src/extend/contract.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aVendor, type Vendor } from "../support/a-vendor.ts";
import { basic, partnerCalls } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// What every request meets: the check of its head, the announced body, parsers that fail, and caches.

const OPERATOR_PASSWORD = "a-password-of-the-operator";
/** An error as a vendor's backend may throw it, which looks like one of Express's parsers. */
const typed = (type: string, status: number) =>
  Object.assign(new Error(`broken inside: ${type}`), { type, status });
const vendor: Vendor & Extensions = aVendor();
vendor.routes = (router) => {
  const thrown = (request: express.Request) => {
    const { type, status } = request.query;
    throw typed(String(type), Number(status));
  };
  router.get("/yours/throws", thrown);
  router.post("/yours/throws", express.json(), thrown);
  router.post("/yours/unread/throws", thrown);
  router.post("/yours/json", express.json({ limit: 100 }), (request, response) => {
    response.json(request.body);
  });
  router.post("/yours/form", express.urlencoded({ parameterLimit: 2 }), (request, response) => {
    response.json(request.body);
  });
  router.get("/yours/decodes{/:it}", (request, response) => {
    response.json(decodeURIComponent(String(request.query["what"])));
  });
  router.post(
    "/yours/guarded",
    (request, response, next) => {
      if (request.headers.authorization === "right") next();
      else response.status(401).end();
    },
    express.text({ type: () => true }),
    (request, response) => void response.send(`read ${request.body as string}`),
  );
};
const world = opened(() => aWorld({ environment: { OPERATOR_PASSWORD }, parts: { vendor: () => vendor } }));

const raw = (bytes: string) => rawHttp(world.service.url!, bytes);

describe("the head of a request", () => {
  it.each([
    ["a line without a version", "GET /healthz\r\n\r\n"],
    ["version 0.9", "GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n"],
    ["version 1.2", "GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n"],
    ["version 1.01", "GET /healthz HTTP/1.01\r\nHost: x\r\n\r\n"],
    ["version 2.0", "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n"],
    ["version 3.0", "GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n"],
    ["no Host", "GET /healthz HTTP/1.1\r\n\r\n"],
    ["an empty Host", "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n"],
    ["an empty Host of version 1.0", "GET /healthz HTTP/1.0\r\nHost:\r\n\r\n"],
    ["two Hosts", "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"],
    ["the same Host twice", "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"],
    ["two Hosts of version 1.0", "GET /healthz HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n"],
    ["a list of Hosts", "GET /healthz HTTP/1.1\r\nHost: x,y\r\n\r\n"],
    ["a list of Hosts with a space", "GET /healthz HTTP/1.1\r\nHost: x, y\r\n\r\n"],
    ["a Host with a path", "GET /healthz HTTP/1.1\r\nHost: x/y\r\n\r\n"],
    ["a Host with a user", "GET /healthz HTTP/1.1\r\nHost: a@x\r\n\r\n"],
    ["a Host that is no address", "GET /healthz HTTP/1.1\r\nHost: 1.2.3.999\r\n\r\n"],
    ["a Host with a port that does not exist", "GET /healthz HTTP/1.1\r\nHost: x:99999\r\n\r\n"],
    ["two Hosts of a provision", bytesOfProvision("Host: y\r\n")],
  ])("%s is refused with 400 as JSON, and the connection closed", async (_, bytes) => {
    const behind = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    const { statuses, text, closed } = await raw(bytes + behind);
    expect({ statuses, closed }).toEqual({ statuses: [400], closed: true });
    expect(text).toMatch(/^cache-control: no-store\r$/im);
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({ id: "bad_request" });
  });

  it.each([
    ["version 1.0 without a Host", "GET /healthz HTTP/1.0\r\n\r\n"],
    ["a Host with a port", "GET /healthz HTTP/1.1\r\nHost: my_service.example:3000\r\n\r\n"],
    ["an address of IPv6", "GET /healthz HTTP/1.1\r\nHost: [::1]:3000\r\n\r\n"],
    ["a whole address as target", "GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n"],
  ])("%s is served", async (_, bytes) => {
    expect((await raw(bytes)).statuses).toEqual([200]);
  });
});

function bytesOfProvision(more: string): string {
  const body = JSON.stringify(aProvisionRequest());
  const head = `Authorization: ${basic("teapots", "x")}\r\nContent-Length: ${body.length}`;
  return `POST /resources HTTP/1.1\r\nHost: x\r\n${more}${head}\r\n\r\n${body}`;
}

describe("a client that announces its body", () => {
  const announced = (method: string, more = "", version = "1.1", expects = "100-continue") =>
    raw(
      `${method} HTTP/${version}\r\nHost: x\r\n${more}Content-Length: 4\r\nExpect: ${expects}\r\n\r\nbodyGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );

  it("is asked for it by a route of the vendor's once that reads it, and its connection goes on", async () => {
    const { statuses, text } = await announced("POST /yours/guarded", "Authorization: right\r\n");
    expect(statuses).toEqual([100, 200, 200]);
    expect(text).toContain("read body");
  });

  it("is asked for it where the header names something else, too", async () => {
    const right = "Authorization: right\r\n";
    expect((await announced("POST /yours/guarded", right, "1.1", "100-Continue, x")).statuses[0]).toBe(100);
  });

  it("of version 1.0 is not asked for it", async () => {
    const { statuses } = await announced("POST /yours/guarded", "Authorization: right\r\n", "1.0");
    expect(statuses).toEqual([200]);
  });

  it.each([
    ["the vendor's guard", "POST /yours/guarded", 401],
    ["a route of the vendor's that reads none", "GET /yours/decodes?what=a", 200],
    ["no route", "POST /nothing", 404],
    ["a route of ours that reads none", "POST /healthz", 405],
    ["the operator's pages", "POST /operator/resources", 401],
  ])("is answered without it by %s, and the connection closed", async (_, line, status) => {
    const answer = await announced(line);
    expect(answer).toMatchObject({ statuses: [status], closed: true });
    expect(answer.text).toMatch(/^connection: close\r$/im);
  });
});

describe("a body that a parser on a route of the vendor's cannot read", () => {
  const json = { "content-type": "application/json" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  it.each<[string, string, Record<string, string>, string, number, string]>([
    ["no JSON", "/yours/json", json, '{"token": "quoted-value', 400, "entity.parse.failed"],
    ["too large", "/yours/json", json, `"${"x".repeat(200)}"`, 413, "entity.too.large"],
    [
      "an unknown charset",
      "/yours/json",
      { "content-type": "application/json; charset=x" },
      "{}",
      415,
      "charset.unsupported",
    ],
    ["too many members", "/yours/form", form, "a=1&b=2&c=3", 413, "parameters.too.many"],
  ])(
    "is the caller's fault, and in the log without its text: %s",
    async (_, path, headers, body, status, reason) => {
      const answer = await fetch(world.service.url + path, { method: "POST", headers, body });
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([status, "no-store"]);
      const id = answer.headers.get("request-id")!;
      const [line] = await eventually(() => nonEmpty(world.lines("A body could not be read", id)));
      expect(JSON.parse(line!)).toMatchObject({ level: "warn", reason });
      expect(world.lines("A request failed", id)).toEqual([]);
      expect(world.logged()).not.toContain("quoted-value");
    },
  );

  it.each([
    ["GET", "/yours/throws", "entity.not.found", 404],
    ["GET", "/yours/throws", "entity.parse.failed", 400],
    ["POST", "/yours/throws", "entity.parse.failed", 400],
    ["POST", "/yours/throws", "entity.too.large", 413],
    ["POST", "/yours/throws", "request.unknown", 404],
    ["POST", "/yours/unread/throws", "entity.parse.failed", 400],
    ["POST", "/yours/unread/throws", "stream.gone", 410],
  ])("is no error of the vendor's own with such a type: %s %s %s", async (method, path, type, status) => {
    const url = `${world.service.url}${path}?${new URLSearchParams({ type, status: `${status}` })}`;
    const body = method === "POST" ? { headers: json, body: "{}" } : {};
    const answer = await fetch(url, { method, ...body });
    expect([answer.status, await answer.json()]).toEqual([
      500,
      expect.objectContaining({ id: "internal_error" }),
    ]);
    const id = answer.headers.get("request-id")!;
    await eventually(() =>
      expect(world.lines("A request failed", id, `broken inside: ${type}`)).toHaveLength(1),
    );
  });

  it("and what a route cannot decode, other than the address, is the vendor's", async () => {
    const call = async (path: string) => (await fetch(world.service.url + path)).status;
    expect(await Promise.all(["?what=%25", "/%zz"].map((it) => call(`/yours/decodes${it}`)))).toEqual([
      500, 400,
    ]);
    expect(world.lines("A request failed", "URIError")).toHaveLength(1);
  });
});

const nonEmpty = <Item>(found: Item[]) => (found.length > 0 ? found : null);

it("every JSON answer of ours is kept by no cache", async () => {
  const platform = partnerCalls(world);
  const wanted = aProvisionRequest();
  const { status, headers } = await platform.provision(wanted);
  const again = await platform.provision(wanted);
  const changed = await platform.changePlan(wanted.uuid, { plan: "premium" });
  const refused = await platform.changePlan(wanted.uuid, { plan: "unknown" });
  const gone = [await platform.deprovision(wanted.uuid), await platform.deprovision(wanted.uuid)][1]!;
  expect([status, again.status, changed.status, refused.status, gone.status]).toEqual([
    200, 200, 200, 422, 410,
  ]);
  const ofPlatform = [headers, ...[again, changed, refused, gone].map((each) => each.headers)];
  for (const each of ofPlatform) expect(each["cache-control"]).toBe("no-store");
  for (const path of [
    "/healthz",
    "/readyz",
    "/nothing",
    "/resources",
    "/metrics",
    "/operator/x",
    "/yours/throws",
  ]) {
    const answer = await fetch(world.service.url + path, { headers: { accept: "application/json" } });
    await answer.arrayBuffer();
    expect([path, answer.headers.get("cache-control")]).toEqual([path, "no-store"]);
  }
});
