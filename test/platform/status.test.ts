import { createHttp } from "../../src/platform/http.ts";
import { currentStatus, incident, incidents, openIncidents } from "../../src/platform/status.ts";
import { inOrder } from "./api-client.ts";
import { type Answering, aServer, closings } from "./local-server.ts";

const toClose = closings();

async function aFeed(answer: Answering, { below = "" } = {}) {
  const { url, seen, close } = await aServer(answer);
  const http = createHttp();
  toClose.push(close, http.close);
  const where = { http, statusUrl: url + below };
  const feed = {
    current: () => currentStatus(where),
    incidents: (query?: Parameters<typeof incidents>[1]) => incidents(where, query),
    incident: (id: string) => incident(where, id),
  };
  return { seen, feed };
}

const NOON = "2026-01-31T12:00:00.000Z";
const LATER = "2026-01-31T12:30:00.000Z";
const UPDATE = {
  ...{ id: 71, incident_id: 7, created_at: LATER, updated_at: LATER, title: "Investigating" },
  ...{ contents: "We look into it.", update_type: "a-type-of-tomorrow", systems: [] },
};
const INCIDENT = {
  ...{ id: 7, title: "Slow builds", state: "investigating", created_at: NOON, updated_at: LATER },
  ...{ resolved: false, resolved_at: null, review: false, duration: 30, tags: ["builds"] },
  href: "https://status.example/api/v4/incidents/7",
  full_url: "https://status.example/incidents/7",
  systems: [{ name: "Tools", status: "yellow", services: ["builds"] }],
  updates: [UPDATE],
};

describe("reading the status feed", () => {
  it("keeps the original and parses it", async () => {
    const said = { ...INCIDENT, of_tomorrow: [1] };
    const { feed } = await aFeed(inOrder(said));
    const { json, value } = await feed.incident("7");
    expect(json).toEqual(said);
    // What the kit shows or decides on.
    expect(said).toMatchObject(value);
    expect(Object.keys(value)).toHaveLength(9);
  });

  it("accepts missing members and new values", async () => {
    const updates = [{ created_at: "2026-01-31T12:00:00+0100" }, "no"];
    const odd = { id: 7, state: "resolved", updates, tags: [1] };
    const said = { status: [{ system: "Apps", status: "mauve" }], incidents: [odd, 5] };
    const { feed } = await aFeed(inOrder(said));
    const { value } = await feed.current();
    expect(value.status).toEqual([{ system: "Apps", status: "mauve" }]);
    expect(value.scheduled).toEqual([]);
    expect(value.incidents).toMatchObject([
      {
        ...{ id: 7, title: "", resolved: true, full_url: null },
        updates: [{ created_at: "2026-01-31T11:00:00.000Z", title: "", contents: "", update_type: null }],
      },
    ]);
  });

  it("returns the open incidents, the last changed first", async () => {
    const incidents = [
      { ...INCIDENT, id: 1 },
      { ...INCIDENT, id: 2, updated_at: "2026-01-31T13:00:00.000Z" },
      { ...INCIDENT, id: 3, resolved: true },
      { ...INCIDENT, id: 4, updated_at: "once" },
      { ...INCIDENT, id: 5, state: "resolved" },
      { ...INCIDENT, id: 6, resolved_at: "2026-01-31T13:00:00.000Z" },
      { ...INCIDENT, id: "a-7", updated_at: "2026-01-31T11:00:00.000Z" },
      { title: "Without an id" },
    ];
    const { feed } = await aFeed(inOrder({ status: [], incidents }));
    const { value } = await feed.current();
    expect(openIncidents(value)?.map(({ id }) => id)).toEqual([2, 1, 4, "a-7", null]);
  });

  it.each([
    [{ state: "completed", resolved: false }, true],
    [{ ends_at: "2020-01-31T13:00:00.000Z" }, true],
    [{ resolved_at: "2120-01-31T13:00:00.000Z" }, false],
  ])("knows whether a maintenance is over: %j", async (members, isOver) => {
    const { feed } = await aFeed(inOrder({ status: [], scheduled: [{ ...INCIDENT, ...members }] }));
    expect((await feed.current()).value.scheduled).toMatchObject([{ resolved: isOver }]);
  });

  it("returns null, not an empty list, when the feed has no list of incidents", async () => {
    const { feed } = await aFeed(inOrder({ status: [] }));
    expect(openIncidents((await feed.current()).value)).toBeNull();
  });
});
