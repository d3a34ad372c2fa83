import type { ResourceApi } from "../../src/platform/api.ts";
import { aBench, type Bench, MEDIA_TYPE, UUID } from "./api-client.ts";

const DRAIN = "https://logs.example:8443/in?t=1&u=ä";
const DRAIN_SEGMENT = "https%3A%2F%2Flogs.example%3A8443%2Fin%3Ft%3D1%26u%3D%C3%A4";

type Kind = "one" | "many" | "done";
type Row = [
  method: string,
  path: string,
  kind: Kind,
  call: (api: ResourceApi) => Promise<unknown>,
  body?: unknown,
];

/** Of the platform document's table "Add-on partner endpoints", then the two actions. */
const ROWS: Row[] = [
  ["GET", `/addons/${UUID}`, "one", (api) => api.addons.own()],
  ["GET", "/addons", "many", (api) => api.addons.list()],
  ["GET", "/users/~/addons", "many", (api) => api.addons.ofUser("~")],
  ["GET", "/users/a%2Bb%40x.example/addons", "many", (api) => api.addons.ofUser("a+b@x.example")],
  ["GET", "/apps/my-app/addons", "many", (api) => api.addons.ofApp("my-app")],
  ["GET", `/addons/${UUID}/addon-attachments`, "many", (api) => api.attachments.ofAddon()],
  ["GET", "/apps/my-app/addon-attachments", "many", (api) => api.attachments.ofApp("my-app")],
  [
    "GET",
    "/apps/my-app/addon-attachments/TEA%2FPOT",
    "one",
    (api) => api.attachments.get("my-app", "TEA/POT"),
  ],
  ["GET", `/addons/${UUID}/config`, "many", (api) => api.config.get()],
  [
    "PATCH",
    `/addons/${UUID}/config`,
    "many",
    (api) => api.config.update([{ name: "A", value: null }]),
    { config: [{ name: "A", value: null }] },
  ],
  ["GET", "/apps/my-app", "one", (api) => api.apps.get("my-app")],
  ["GET", "/apps", "many", (api) => api.apps.list()],
  ["GET", "/users/~/apps", "many", (api) => api.apps.ofUser("~")],
  ["POST", "/filters/apps", "many", (api) => api.apps.filter([UUID]), { in: { id: [UUID] } }],
  ["GET", "/apps/my-app/collaborators", "many", (api) => api.collaborators.ofApp("my-app")],
  ["GET", "/apps/my-app/domains", "many", (api) => api.domains.ofApp("my-app")],
  ["GET", `/addons/${UUID}/log-drains`, "many", (api) => api.logDrains.ofAddon()],
  [
    "PUT",
    `/addons/${UUID}/log-drains/${DRAIN_SEGMENT}`,
    "one",
    (api) => api.logDrains.update(DRAIN, "https://b"),
    { url: "https://b" },
  ],
  ["POST", "/apps/my-app/log-drains", "one", (api) => api.logDrains.create("my-app", DRAIN), { url: DRAIN }],
  ["DELETE", "/apps/my-app/log-drains/d.1", "done", (api) => api.logDrains.remove("my-app", "d.1")],
  ["GET", `/apps/my-app/log-drains/${DRAIN_SEGMENT}`, "one", (api) => api.logDrains.get("my-app", DRAIN)],
  ["GET", "/apps/my-app/log-drains", "many", (api) => api.logDrains.ofApp("my-app")],
  ["GET", "/pipelines/p1", "one", (api) => api.pipelines.get("p1")],
  ["GET", "/pipelines", "many", (api) => api.pipelines.list()],
  ["GET", "/pipelines/p1/pipeline-couplings", "many", (api) => api.pipelineCouplings.ofPipeline("p1")],
  ["GET", "/pipeline-couplings", "many", (api) => api.pipelineCouplings.list()],
  ["GET", "/pipeline-couplings/c1", "one", (api) => api.pipelineCouplings.get("c1")],
  ["GET", "/apps/my-app/pipeline-couplings", "one", (api) => api.pipelineCouplings.ofApp("my-app")],
  ["GET", "/teams/my%20team/members", "many", (api) => api.teamMembers.ofTeam("my team")],
  ["POST", `/addons/${UUID}/actions/provision`, "done", (api) => api.actions.provision()],
  ["POST", `/addons/${UUID}/actions/deprovision`, "done", (api) => api.actions.deprovision()],
];

describe("an endpoint", () => {
  let bench: Bench;
  let answer: unknown;
  beforeAll(async () => {
    bench = await aBench((_seen, response) => response.end(JSON.stringify(answer)), { apiPath: "/v3/" });
  });
  afterAll(() => bench.close());

  it.each(ROWS)("%s %s", async (...[method, path, kind, call, body]: Row) => {
    bench.seen.length = 0;
    answer = { id: "x", name: "n", extra: 1 };
    const object = await call(bench.api).catch((error: unknown) => error);
    answer = [answer];
    const list = await call(bench.api).catch((error: unknown) => error);
    // Unknown members come through; the wrong one of the two shapes is unreadable; some look at the status alone.
    const item = { id: "x", name: "n", extra: 1 };
    const unreadable = expect.objectContaining({ id: "unreadable_answer" });
    const expected = { one: [item, unreadable], many: [unreadable, [item]], done: [undefined, undefined] }[
      kind
    ];
    expect([object, list]).toEqual(expected);
    expect(bench.seen).toHaveLength(2);
    for (const request of bench.seen) {
      expect([request.method, request.url]).toEqual([method, `/v3${path}`]);
      expect(request.body).toBe(body === undefined ? "" : JSON.stringify(body));
      expect(request.headers["content-type"]).toBe(body === undefined ? undefined : "application/json");
      expect(request.headers).toMatchObject({ accept: MEDIA_TYPE, authorization: "Bearer token-1" });
    }
  });

  it("exists for every row of the document and for nothing else", () => {
    const { request: _request, pages: _pages, ...groups } = bench.api;
    const methods = Object.values(groups).flatMap((group) => Object.values(group));
    expect(methods).toHaveLength(30);
    expect(new Set(ROWS.map(([, , , call]) => /api(\.\w+\.\w+)/.exec(call.toString())?.[1])).size).toBe(30);
  });
});
