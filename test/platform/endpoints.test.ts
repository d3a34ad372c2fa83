import type { ResourceApi } from "../../src/platform/api.ts";
import { aBench, type Bench, MEDIA_TYPE, UUID } from "./api-client.ts";

const DRAIN = "https://logs.example:8443/in?t=1&u=ä";
const DRAIN_SEGMENT = "https%3A%2F%2Flogs.example%3A8443%2Fin%3Ft%3D1%26u%3D%C3%A4";

type Row = [method: string, path: string, call: (api: ResourceApi) => Promise<unknown>, body?: unknown];

/** Of the platform document's table "Add-on partner endpoints", then the two actions. */
const ROWS: Row[] = [
  ["GET", `/addons/${UUID}`, (api) => api.addons.own()],
  ["GET", "/addons", (api) => api.addons.list()],
  ["GET", "/users/~/addons", (api) => api.addons.ofUser("~")],
  ["GET", "/users/a%2Bb%40x.example/addons", (api) => api.addons.ofUser("a+b@x.example")],
  ["GET", "/apps/my-app/addons", (api) => api.addons.ofApp("my-app")],
  ["GET", `/addons/${UUID}/addon-attachments`, (api) => api.attachments.ofAddon()],
  ["GET", "/apps/my-app/addon-attachments", (api) => api.attachments.ofApp("my-app")],
  ["GET", "/apps/my-app/addon-attachments/TEA%2FPOT", (api) => api.attachments.get("my-app", "TEA/POT")],
  ["GET", `/addons/${UUID}/config`, (api) => api.config.get()],
  [
    "PATCH",
    `/addons/${UUID}/config`,
    (api) => api.config.update([{ name: "A", value: null }]),
    { config: [{ name: "A", value: null }] },
  ],
  ["GET", "/apps/my-app", (api) => api.apps.get("my-app")],
  ["GET", "/apps", (api) => api.apps.list()],
  ["GET", "/users/~/apps", (api) => api.apps.ofUser("~")],
  ["POST", "/filters/apps", (api) => api.apps.filter([UUID]), { in: { id: [UUID] } }],
  ["GET", "/apps/my-app/collaborators", (api) => api.collaborators.ofApp("my-app")],
  ["GET", "/apps/my-app/domains", (api) => api.domains.ofApp("my-app")],
  ["GET", `/addons/${UUID}/log-drains`, (api) => api.logDrains.ofAddon()],
  [
    "PUT",
    `/addons/${UUID}/log-drains/${DRAIN_SEGMENT}`,
    (api) => api.logDrains.update(DRAIN, "https://b"),
    { url: "https://b" },
  ],
  ["POST", "/apps/my-app/log-drains", (api) => api.logDrains.create("my-app", DRAIN), { url: DRAIN }],
  ["DELETE", "/apps/my-app/log-drains/d.1", (api) => api.logDrains.remove("my-app", "d.1")],
  ["GET", `/apps/my-app/log-drains/${DRAIN_SEGMENT}`, (api) => api.logDrains.get("my-app", DRAIN)],
  ["GET", "/apps/my-app/log-drains", (api) => api.logDrains.ofApp("my-app")],
  ["GET", "/pipelines/p1", (api) => api.pipelines.get("p1")],
  ["GET", "/pipelines", (api) => api.pipelines.list()],
  ["GET", "/pipelines/p1/pipeline-couplings", (api) => api.pipelineCouplings.ofPipeline("p1")],
  ["GET", "/pipeline-couplings", (api) => api.pipelineCouplings.list()],
  ["GET", "/pipeline-couplings/c1", (api) => api.pipelineCouplings.get("c1")],
  ["GET", "/apps/my-app/pipeline-couplings", (api) => api.pipelineCouplings.ofApp("my-app")],
  ["GET", "/teams/my%20team/members", (api) => api.teamMembers.ofTeam("my team")],
  ["POST", `/addons/${UUID}/actions/provision`, (api) => api.actions.provision()],
  ["POST", `/addons/${UUID}/actions/deprovision`, (api) => api.actions.deprovision()],
];

describe("an endpoint", () => {
  let bench: Bench;
  let answer: unknown;
  beforeAll(async () => {
    bench = await aBench((_seen, response) => response.end(JSON.stringify(answer)), { apiPath: "/v3/" });
  });
  afterAll(() => bench.close());

  it.each(ROWS)("%s %s", async (...[method, path, call, body]: Row) => {
    bench.seen.length = 0;
    answer = { id: "x", name: "n", extra: 1 };
    const object = await call(bench.api).catch((error: unknown) => error);
    answer = [answer];
    const list = await call(bench.api).catch((error: unknown) => error);
    // One of the two shapes is this endpoint's, and unknown members come through it; actions ignore the shape.
    expect([object, list].filter((result) => !(result instanceof Error)).flat()).toEqual(
      object === undefined ? [undefined, undefined] : [{ id: "x", name: "n", extra: 1 }],
    );
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
    expect(new Set(ROWS.map(([, , call]) => /api(\.\w+\.\w+)/.exec(call.toString())?.[1])).size).toBe(30);
  });
});
