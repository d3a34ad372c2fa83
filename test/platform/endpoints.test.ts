import type { ServerResponse } from "node:http";
import type { ResourceApi } from "../../src/platform/api.ts";
import { aBench, type Bench, MEDIA_TYPE, UUID } from "./api-client.ts";
import type { Answering } from "./local-server.ts";

type Kind = "one" | "many" | "vars" | "done";
/** KEY in a path stands for any name of the object: an id, a name, an e-mail, a URL, a token. */
type Row = [
  method: string,
  path: string,
  kind: Kind,
  call: (api: ResourceApi, key: string) => Promise<unknown>,
  body?: (key: string) => object,
];

const CONFIG = [{ name: "A", value: null }];

/** Of the platform document's table "Add-on partner endpoints", then the two actions. */
const ROWS: Row[] = [
  ["GET", `/addons/${UUID}`, "one", (api) => api.addons.own()],
  ["GET", "/addons", "many", (api) => api.addons.list()],
  ["GET", "/users/KEY/addons", "many", (api, key) => api.addons.ofUser(key)],
  ["GET", "/apps/KEY/addons", "many", (api, key) => api.addons.ofApp(key)],
  ["GET", `/addons/${UUID}/addon-attachments`, "many", (api) => api.attachments.ofAddon()],
  ["GET", "/apps/KEY/addon-attachments", "many", (api, key) => api.attachments.ofApp(key)],
  ["GET", "/apps/KEY/addon-attachments/KEY", "one", (api, key) => api.attachments.get(key, key)],
  ["GET", `/addons/${UUID}/config`, "vars", (api) => api.config.get()],
  ["PATCH", `/addons/${UUID}/config`, "vars", (api) => api.config.update(CONFIG), () => ({ config: CONFIG })],
  ["GET", "/apps/KEY", "one", (api, key) => api.apps.get(key)],
  ["GET", "/apps", "many", (api) => api.apps.list()],
  ["GET", "/users/KEY/apps", "many", (api, key) => api.apps.ofUser(key)],
  ["POST", "/filters/apps", "many", (api, key) => api.apps.filter([key]), (key) => ({ in: { id: [key] } })],
  ["GET", "/apps/KEY/collaborators", "many", (api, key) => api.collaborators.ofApp(key)],
  ["GET", "/apps/KEY/domains", "many", (api, key) => api.domains.ofApp(key)],
  ["GET", `/addons/${UUID}/log-drains`, "many", (api) => api.logDrains.ofAddon()],
  [
    "PUT",
    `/addons/${UUID}/log-drains/KEY`,
    "one",
    (api, key) => api.logDrains.update(key, "https://b"),
    () => ({ url: "https://b" }),
  ],
  ["POST", "/apps/KEY/log-drains", "one", (api, key) => api.logDrains.create(key, key), (url) => ({ url })],
  ["DELETE", "/apps/KEY/log-drains/KEY", "done", (api, key) => api.logDrains.remove(key, key)],
  ["GET", "/apps/KEY/log-drains/KEY", "one", (api, key) => api.logDrains.get(key, key)],
  ["GET", "/apps/KEY/log-drains", "many", (api, key) => api.logDrains.ofApp(key)],
  ["GET", "/pipelines/KEY", "one", (api, key) => api.pipelines.get(key)],
  ["GET", "/pipelines", "many", (api) => api.pipelines.list()],
  ["GET", "/pipelines/KEY/pipeline-couplings", "many", (api, key) => api.pipelineCouplings.ofPipeline(key)],
  ["GET", "/pipeline-couplings", "many", (api) => api.pipelineCouplings.list()],
  ["GET", "/pipeline-couplings/KEY", "one", (api, key) => api.pipelineCouplings.get(key)],
  ["GET", "/apps/KEY/pipeline-couplings", "one", (api, key) => api.pipelineCouplings.ofApp(key)],
  ["GET", "/teams/KEY/members", "many", (api, key) => api.teamMembers.ofTeam(key)],
  ["POST", `/addons/${UUID}/actions/provision`, "done", (api) => api.actions.provision()],
  ["POST", `/addons/${UUID}/actions/deprovision`, "done", (api) => api.actions.deprovision()],
];

/** Each key and its encoded form, written out, so that no encoder is tested with itself. */
const KEYS: [key: string, segment: string][] = [
  [UUID, UUID],
  ["my-app", "my-app"],
  ["~", "~"],
  ["a+b@x.example", "a%2Bb%40x.example"],
  [`d.${UUID}`, `d.${UUID}`],
  ["https://logs.example:8443/in?t=1&u=ä", "https%3A%2F%2Flogs.example%3A8443%2Fin%3Ft%3D1%26u%3D%C3%A4"],
  ["syslog+tls://u:p@[::1]:6514", "syslog%2Btls%3A%2F%2Fu%3Ap%40%5B%3A%3A1%5D%3A6514"],
  ["../../admin#x%2F y", "..%2F..%2Fadmin%23x%252F%20y"],
];

const item = { id: "x", name: "n", app: { id: "y" }, extra: 1 };
const answering =
  (status: number, body: unknown, headers = {}): Answering =>
  (_seen, response) =>
    response.writeHead(status, headers).end(JSON.stringify(body));
const goodAnswer = (kind: Kind) => (kind === "many" || kind === "vars" ? [item] : item);
const goodResult = (kind: Kind) => (kind === "done" ? undefined : goodAnswer(kind));

let bench: Bench;
let answer: Answering;
beforeAll(async () => {
  const byTheTest: Answering = (seen, response: ServerResponse) => answer(seen, response);
  bench = await aBench(byTheTest, { apiPath: "/v3/" });
});
beforeEach(() => {
  bench.seen.length = 0;
  bench.renewed.length = 0;
});
afterAll(() => bench.close());

describe.each(ROWS)("%s %s", (...[method, path, kind, call, body]: Row) => {
  const [key] = KEYS[0]!;
  const calls = () => bench.seen.map((request) => `${request.method} ${request.url}`);
  const expected = (segment: string) => `${method} /v3${path.replaceAll("KEY", segment)}`;

  it("is called as the document says, and returns the platform's answer completely", async () => {
    answer = answering(200, goodAnswer(kind));
    await expect(call(bench.api, key)).resolves.toEqual(goodResult(kind));
    expect(calls()).toEqual([expected(key)]);
    const [request] = bench.seen;
    expect(request!.body).toBe(body ? JSON.stringify(body(key)) : "");
    expect(request!.headers["content-type"]).toBe(body && "application/json");
    expect(request!.headers).toMatchObject({
      accept: MEDIA_TYPE,
      authorization: expect.stringMatching(/^Bearer token-\d+$/),
    });
  });

  it("encodes each name as one path segment, and sends it unchanged in a body", async () => {
    answer = answering(200, goodAnswer(kind));
    for (const [named, segment] of KEYS) {
      bench.seen.length = 0;
      await call(bench.api, named);
      expect(calls()).toEqual([expected(segment)]);
      expect(bench.seen[0]!.body).toBe(body ? JSON.stringify(body(named)) : "");
    }
  });

  it("throws when the shape of the answer is wrong, where it matters", async () => {
    answer = answering(200, kind === "one" ? [item] : item);
    const result = call(bench.api, key);
    if (kind === "done") await expect(result).resolves.toBeUndefined();
    else await expect(result).rejects.toMatchObject({ id: "unreadable_answer", status: 200 });
  });
});

it.each(["", ".", ".."])("the key %j is not requested", async (key) => {
  const keyed = ROWS.filter(([, path]) => path.includes("KEY"));
  for (const [, , , call] of keyed) {
    await expect((async () => call(bench.api, key))()).rejects.toMatchObject({ id: "invalid_path" });
  }
  expect(bench.seen).toEqual([]);
});

it("every endpoint of the document has its method, and there is no other", () => {
  const { request: _request, pages: _pages, ...groups } = bench.api;
  const methods = Object.entries(groups).flatMap(([group, calls]) =>
    Object.keys(calls).map((call) => `.${group}.${call}`),
  );
  const called = ROWS.map(([, , , call]) => /api(\.\w+\.\w+)/.exec(call.toString())?.[1]);
  expect([...called].sort()).toEqual(methods.sort());
});
