import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSandbox } from "../index.ts";
import { aWorld, stopTime, type TestWorld } from "./world.ts";

interface Incident {
  id: number;
  title: string;
  state: string;
  resolved: boolean;
  duration: number;
  created_at: string;
  resolved_at: string | null;
  full_url: string;
  systems: { name: string; status: string; services: string[] }[];
  updates: { id: number; incident_id: number; update_type: string; contents: string; systems: unknown[] }[];
}
interface Current {
  status: { system: string; status: string }[];
  incidents: Incident[];
  scheduled: Incident[];
}

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

async function read<Body>(path: string, init: RequestInit = {}) {
  const response = await fetch(`${world.sandbox.url}/api/v4${path}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text && JSON.parse(text)) as Body };
}
async function control(method: string, path: string, json: unknown) {
  const response = await fetch(`${world.sandbox.url}/sandbox${path}`, { method, body: JSON.stringify(json) });
  return { status: response.status, body: (await response.json()) as Incident & { message: string } };
}
const current = async () => (await read<Current>("/current-status")).body;
const colours = async () => (await current()).status.map(({ status }) => status).join(" ");

it("all systems are green and no incident is open at first", async () => {
  expect(await read("/current-status")).toMatchObject({
    status: 200,
    body: {
      status: [
        { system: "Apps", status: "green" },
        { system: "Data", status: "green" },
        { system: "Tools", status: "green" },
      ],
      incidents: [],
      scheduled: [],
    },
  });
});

describe("an incident", () => {
  it("has every documented member, with its updates newest first", async () => {
    stopTime();
    const { status, body } = await control("POST", "/incidents", {
      title: "Slow builds",
      contents: "Builds wait longer than usual.",
      systems: [{ name: "Tools", status: "yellow", services: ["Builds"] }],
      tags: ["us"],
    });
    expect(status).toBe(201);
    expect(body.updates).toMatchObject([{ created_at: body.created_at }]);
    world.control.advanceClock(90);
    world.control.updateIncident(body.id, { update_type: "identified", contents: "A full disk." });
    const milliseconds = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
    const url = world.sandbox.url;
    const update = {
      id: expect.any(Number) as number,
      created_at: milliseconds,
      updated_at: milliseconds,
      incident_id: body.id,
    };
    expect(await read(`/incidents/${body.id}`)).toMatchObject({ status: 200 });
    expect((await read(`/incidents/${body.id}`)).body).toEqual({
      id: expect.any(Number) as number,
      title: "Slow builds",
      state: "investigating",
      created_at: milliseconds,
      updated_at: milliseconds,
      resolved: false,
      href: `${url}/api/v4/incidents/${body.id}`,
      full_url: `${url}/incidents/${body.id}`,
      duration: 90,
      resolved_at: null,
      review: false,
      systems: [{ name: "Tools", status: "yellow", services: ["Builds"] }],
      tags: ["us"],
      updates: [
        { ...update, title: "Identified", contents: "A full disk.", update_type: "identified", systems: [] },
        {
          ...update,
          title: "Investigating",
          contents: "Builds wait longer than usual.",
          update_type: "investigating",
          systems: [{ name: "Tools", status: "yellow", services: ["Builds"] }],
        },
      ],
    });
  });

  it("sets the status of its systems until it is resolved; of two the worse counts", async () => {
    const slow = world.control.openIncident({ title: "Slow", systems: ["Apps", "Data"] });
    expect(await colours()).toBe("yellow yellow green");
    const down = world.control.openIncident({ title: "Down", systems: [{ name: "Data", status: "red" }] });
    expect(await colours()).toBe("yellow red green");
    expect((await current()).incidents.map(({ title }) => title)).toEqual(["Down", "Slow"]);
    world.control.updateIncident(slow.id, { systems: [{ name: "Apps", status: "red" }] });
    expect(await colours()).toBe("red red green");
    world.control.resolveIncident(down.id, "All is well.");
    world.control.resolveIncident(slow.id);
    expect(await current()).toMatchObject({ incidents: [], status: [{ status: "green" }, {}, {}] });
  });

  it("is resolved with its duration in seconds, and can be reopened", async () => {
    stopTime();
    const { id } = world.control.openIncident({ title: "Down" });
    world.control.advanceClock(120);
    expect(await control("PATCH", `/incidents/${id}`, { resolved: true })).toMatchObject({ status: 200 });
    world.control.advanceClock(60);
    world.control.updateIncident(id, { contents: "A report will follow.", review: true });
    const { body } = await read<Incident>(`/incidents/${id}`);
    expect(body).toMatchObject({ state: "resolved", resolved: true, duration: 120, review: true });
    expect(body.systems).toEqual([{ name: "Apps", status: "green", services: ["Apps"] }]);
    expect(body.updates.map(({ update_type }) => update_type)).toEqual([
      "update",
      "resolved",
      "investigating",
    ]);
    expect(await control("PATCH", `/incidents/${id}`, { state: "resolved" })).toMatchObject({ status: 409 });
    world.control.updateIncident(id, { resolved: false });
    expect((await current()).incidents).toMatchObject([{ id, resolved_at: null }]);
  });

  it("has a page that escapes its text", async () => {
    const { full_url } = world.control.openIncident({ title: "Down", contents: "<b>All</b> of it" });
    const page = await fetch(full_url);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await page.text()).toContain("&lt;b>All&lt;/b> of it");
  });
});

it("a maintenance is announced, starts at its time, and ends when it is resolved", async () => {
  const starts_at = new Date(Date.now() + 3_600_000).toISOString();
  const { id } = world.control.openIncident({
    kind: "maintenance",
    title: "New disks",
    systems: ["Data"],
    starts_at,
  });
  expect(await current()).toMatchObject({
    incidents: [],
    scheduled: [{ id, state: "upcoming", duration: 0 }],
  });
  expect(await colours()).toBe("green green green");
  world.control.advanceClock(3601);
  expect(await current()).toMatchObject({ incidents: [], scheduled: [{ id, state: "in_progress" }] });
  expect(await colours()).toBe("green blue green");
  world.control.resolveIncident(id);
  expect(await current()).toMatchObject({ scheduled: [] });
  expect(await colours()).toBe("green green green");
});

it("a maintenance is over too once its state says that it is completed", async () => {
  const { id } = world.control.openIncident({ kind: "maintenance", title: "Tapes", systems: ["Tools"] });
  expect(await colours()).toBe("green green blue");
  world.control.updateIncident(id, { state: "completed" });
  expect([await current(), await colours()]).toMatchObject([{ scheduled: [] }, "green green green"]);
});

describe("GET /api/v4/incidents", () => {
  it("lists the newest first, filtered by day and limited", async () => {
    const titles = async (query: string) =>
      (await read<Incident[]>(`/incidents${query}`)).body.map(({ title }) => title);
    world.control.openIncident({ title: "First" });
    world.control.advanceClock(86_400);
    world.control.openIncident({ title: "Second" });
    const { created_at } = world.control.openIncident({ title: "Third" });
    const today = created_at.slice(0, 10);
    const later = new Date(Date.parse(created_at) + 86_400_000).toISOString().slice(0, 10);
    expect(await titles("")).toEqual(["Third", "Second", "First"]);
    expect(await titles(`?since=${today}`)).toEqual(["Third", "Second"]);
    expect(await titles(`?since=${today}&per_page=1`)).toEqual(["Third"]);
    expect(await titles(`?since=${later}`)).toEqual([]);
    expect(await titles("?per_page=1000000")).toHaveLength(3);
  });

  it.each([
    ["since=yesterday", /since must be a date/],
    ["since=2025-04-31", /since must be a date/],
    ["since=2025-4-3", /since must be a date/],
    ["since=2025-04-03&since=2025-04-04", /since must be a date/],
    ["per_page=0", /per_page must be/],
    ["per_page=ten", /per_page must be/],
    ["per_page=1.5", /per_page must be/],
  ])("refuses ?%s", async (query, message) => {
    expect(await read(`/incidents?${query}`)).toMatchObject({
      status: 422,
      body: { id: "invalid_params", message: expect.stringMatching(message) as string },
    });
  });
});

it.each(["/incidents/7", "/incidents/none", "/nothing"])("an unknown %s is answered 404", async (path) => {
  const { status, headers, body } = await read(path);
  expect([status, headers.get("access-control-allow-origin")]).toEqual([404, "*"]);
  expect(body).toMatchObject({ id: "not_found", message: expect.stringContaining("no ") as string });
});

describe("CORS of the status feed", () => {
  it("allows reading without credentials", async () => {
    const { status, headers } = await read("/incidents", { headers: { origin: "https://anywhere.example" } });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  });
});

it("the feed is updated only at the interval of its setting", async () => {
  stopTime();
  world.control.settings({ statusRefreshSeconds: 30 });
  const { id } = world.control.openIncident({ title: "Down" });
  expect(await current()).toMatchObject({ incidents: [] });
  expect(await read(`/incidents/${id}`)).toMatchObject({ status: 404 });
  world.control.advanceClock(30);
  expect(await current()).toMatchObject({ incidents: [{ id }] });
  world.control.resolveIncident(id);
  expect(await colours()).toBe("yellow green green");
  world.control.advanceClock(30);
  expect(await colours()).toBe("green green green");
});

it.each([
  [{}, /title is missing/],
  [{ title: " " }, /title: must be a string/],
  [{ title: "A", systems: "Apps" }, /systems: must be an array/],
  [{ title: "A", systems: [{ status: "red" }] }, /name is missing/],
  [{ title: "A", state: "Very bad" }, /state: must be a word/],
  [{ title: "A", kind: "party" }, /kind: must be one of incident, maintenance/],
  [{ title: "A", starts_at: "soon" }, /starts_at: must be an ISO 8601/],
  [{ title: "A", colour: "red" }, /no member colour/],
])("the control API refuses to open %j", async (wish, message) => {
  const { status, body } = await control("POST", "/incidents", wish);
  expect([status, body.message]).toEqual([422, expect.stringMatching(message)]);
  expect((await read("/incidents")).body).toEqual([]);
});

it("incidents and their numbers survive a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbox-"));
  const statePath = join(folder, "state.json");
  const before = await startSandbox({ statePath });
  const { id } = before.control.openIncident({ title: "Down" });
  await before.close();
  const after = await startSandbox({ statePath });
  expect(after.control.resolveIncident(id)).toMatchObject({ id, title: "Down", resolved: true });
  expect(after.control.openIncident({ title: "Again" }).id).toBe(id + 1);
  await after.close();
  rmSync(folder, { recursive: true });
});
