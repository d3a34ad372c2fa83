import { aProvisionRequest } from "../support/a-provision-request.ts";
import type { Database } from "../../src/database/database.ts";
import { databaseError } from "../support/interleavings.ts";
import { basic, partnerCalls } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { aWorld, opened } from "../support/world.ts";

let trouble: Error | null = null;
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (statement, values) => (trouble ? Promise.reject(trouble) : database.query(statement, values)),
  transaction: (work) => (trouble ? Promise.reject(trouble) : database.transaction(work)),
});
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" }, parts: { wrapDatabase } }));
afterEach(() => void (trouble = null));

/** Longer than any answer takes: these connections are closed by the service. */
const PATIENCE_MS = 20_000;

function request(method: string, path: string, body?: object, more = ""): string {
  const { addonId, addonPassword } = world.sandbox.settings;
  const text = body ? JSON.stringify(body) : "";
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(addonId, addonPassword)}\r\nContent-Length: ${text.length}\r\n${more}\r\n${text}`;
}

it("requests that are sent together are carried out in their order", async () => {
  const wanted = aProvisionRequest({ plan: "basic" });
  const { statuses } = await rawHttp(
    world.service.url!,
    request("POST", "/resources", wanted) +
      request("PUT", `/resources/${wanted.uuid}`, { plan: "premium" }) +
      request("DELETE", `/resources/${wanted.uuid}`) +
      request("DELETE", `/resources/${wanted.uuid}`, undefined, "Connection: close\r\n"),
    PATIENCE_MS,
  );
  expect(statuses).toEqual([200, 200, 204, 410]);
});

it.each([
  ["no HTTP", () => "hello\r\n\r\n", [400], "bad_request"],
  [
    "100 kB of headers",
    () => `GET / HTTP/1.1\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
    [431],
    "headers_too_large",
  ],
  ["garbage behind a request", () => `${request("POST", "/resources", aProvisionRequest({ plan: "basic" }))}no\r\n\r\n`, [200, 400], "bad_request"], // prettier-ignore
])("%s is refused with an id and a message", async (_, bytes, statuses, id) => {
  const answer = await rawHttp(world.service.url!, bytes(), PATIENCE_MS);
  expect(answer).toMatchObject({ statuses, closed: true });
  expect(JSON.parse(answer.text.slice(answer.text.lastIndexOf("\r\n\r\n")))).toMatchObject({ id });
});

it("HEAD is answered like GET", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    const { status, headers } = await fetch(world.service.url! + path, { method: "HEAD" });
    const type = headers.get("content-type");
    expect([path, status, type]).toEqual([path, 200, "application/json; charset=utf-8"]);
  }
});

it.each(["GET /healthz", "GET /nothing", "POST /healthz", "POST /resources"])(
  "an answer to %s carries the request's id and the headers of every answer",
  async (line) => {
    const [method, path] = line.split(" ");
    const asked = { method: method!, headers: { "request-id": "the-id-of-the-request" } };
    const { headers } = await fetch(`${world.service.url}${path}`, asked);
    expect(Object.fromEntries(headers)).toMatchObject({
      "request-id": "the-id-of-the-request",
      "x-content-type-options": "nosniff",
      "strict-transport-security": "max-age=31536000",
    });
  },
);

it("HOST is the only address on which it listens, where it is set", async () => {
  const other = () => fetch(world.service.url!.replace(/\/\/[\w.]+/, "//127.0.0.2") + "/healthz");
  expect((await other()).status).toBe(200);
  await world.restart({ environment: { HOST: "127.0.0.1" } });
  expect(world.service.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  expect((await fetch(`${world.service.url}/healthz`)).status).toBe(200);
  await expect(other()).rejects.toThrow();
});

it.each([
  ["of PostgreSQL", Object.assign(databaseError("23505"), { message: "duplicate key value (uuid)=(1)" })],
  ["of Prisma, which quotes our source", new Error("Invalid `prisma.create()` in /srv/app/src/rows.ts:12:3")],
  ["of our own", new TypeError("Cannot read properties of undefined (reading 'SVCK-secret-of-ours')")],
])("an error %s is answered with a request id and no internal detail", async (_, error) => {
  trouble = error;
  const platform = partnerCalls(world);
  const request = aProvisionRequest();
  for (const answer of [
    await platform.provision(request),
    await platform.changePlan(request.uuid, { plan: "premium" }),
    await platform.deprovision(request.uuid),
  ]) {
    const { status, body, headers } = answer;
    const message = "Something went wrong here. The request id finds it in the log.";
    expect([status, body]).toEqual([500, { id: "internal_error", message }]);
    expect(world.logged()).toContain(headers["request-id"] as string);
  }
  expect(world.logged()).not.toContain("secret-of-ours");
});
