import { createLog } from "../../src/logging/log.ts";
import { createStatusWatch, currentStatus, incident, openIncidents } from "../../src/platform/status.ts";
import { createScrubber } from "../../src/secret.ts";
import { eventually } from "../support/world.ts";
import { inOrder } from "./api-client.ts";
import { type Answering, anHttp, aServer } from "./local-server.ts";

async function aFeed(answer: Answering) {
  const { url } = await aServer(answer);
  const where = { http: anHttp(), statusUrl: url };
  return { current: () => currentStatus(where), incident: (id: string) => incident(where, id) };
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
    const feed = await aFeed(inOrder(said));
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
    const feed = await aFeed(inOrder(said));
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
    const feed = await aFeed(inOrder({ status: [], incidents }));
    const { value } = await feed.current();
    expect(openIncidents(value)?.map(({ id }) => id)).toEqual([2, 1, 4, "a-7", null]);
  });

  it.each([
    [{ state: "completed", resolved: false }, true],
    [{ ends_at: "2020-01-31T13:00:00.000Z" }, true],
    [{ resolved_at: "2120-01-31T13:00:00.000Z" }, false],
  ])("knows whether a maintenance is over: %j", async (members, isOver) => {
    const feed = await aFeed(inOrder({ status: [], scheduled: [{ ...INCIDENT, ...members }] }));
    expect((await feed.current()).value.scheduled).toMatchObject([{ resolved: isOver }]);
  });

  it("returns null, not an empty list, when the feed has no list of incidents", async () => {
    const feed = await aFeed(inOrder({ status: [] }));
    expect(openIncidents((await feed.current()).value)).toBeNull();
  });
});

/** A watch on a real feed, asked at most every `everyMs`, and a log whose alarms it notes. */
async function aWatch(answer: Answering, everyMs?: number) {
  const { url, seen } = await aServer(answer);
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const watch = createStatusWatch({ http: anHttp(), statusUrl: url }, everyMs);
  const log = createLog("info", createScrubber("SVCK-"), destination, () => watch.note());
  return { watch, seen, log, lines };
}

describe("the watch on the status feed", () => {
  it.each([{ status: [] }, 503])(
    "makes one call for all who ask, also if the feed fails (%j)",
    async (answer) => {
      const { watch, seen } = await aWatch(inOrder(answer));
      expect(seen).toEqual([]);
      await Promise.all([watch.look(), watch.look()]);
      await watch.look();
      expect(seen).toHaveLength(1);
    },
  );

  it("keeps its last state while the feed fails", async () => {
    const { watch } = await aWatch(inOrder({ status: [], incidents: [INCIDENT] }, 503), 0);
    await watch.look();
    const { last, failure } = await watch.look();
    expect(last?.status.incidents).toHaveLength(1);
    expect(failure).toContain("503");
  });

  it("ends its call when it is closed", async () => {
    const { watch, seen } = await aWatch(() => undefined);
    const asked = watch.look();
    await eventually(() => seen.length > 0);
    watch.close();
    expect(await asked).toMatchObject({ last: null, failure: expect.any(String) });
  });
});

it("an alarm is logged at once; later ones name the open incident that changed last, and how many others", async () => {
  const incidents = [
    { ...INCIDENT, id: 1, resolved: true, updated_at: "2026-01-03T00:00:00.000Z" },
    { ...INCIDENT, id: 2, updated_at: "2026-01-01T00:00:00.000Z" },
    { ...INCIDENT, id: 3, title: "New\nline", full_url: null, updated_at: "2026-01-02T00:00:00.000Z" },
  ];
  const { log, lines, watch } = await aWatch(inOrder({ status: [], incidents }));
  log.error({ alarm: "grant_lost" }, "A grant ended");
  expect(lines[0]).not.toHaveProperty("incident");
  await watch.look();
  log.child({ request: 5 }).warn({ alarm: "no_grant" }, "No grant");
  log.info({ uuid: "1" }, "No alarm");
  const incident = { id: 3, title: "New line", full_url: null, others: 1 };
  expect(lines[1]).toMatchObject({ alarm: "no_grant", request: 5, incident });
  expect(lines[2]).not.toHaveProperty("incident");
});
