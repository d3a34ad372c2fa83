import { inOrder } from "../../platform/api-client.ts";
import { aClosedPort, type Answering, aServer } from "../../platform/local-server.ts";
import { kit, kitJson } from "../../support/kit.ts";

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

const INCIDENT = {
  id: 7,
  title: "Slow\u001b[31m builds",
  state: "monitoring",
  created_at: hoursAgo(5),
  updated_at: hoursAgo(3),
  resolved: false,
  full_url: "https://status.example/incidents/7",
  systems: [{ name: "Tools", status: "yellow", services: ["builds"] }],
  updates: [
    { id: 71, created_at: hoursAgo(5), update_type: "issue", title: "Issue", contents: "The first word." },
    { id: 72, created_at: hoursAgo(3), update_type: "update", title: "Update", contents: "The last word." },
  ],
  of_tomorrow: true,
};
const MAINTENANCE = { id: 8, title: "New disks", state: "scheduled", created_at: hoursAgo(50) };
const CURRENT = {
  status: [
    { system: "Apps", status: "green" },
    { system: "Tools", status: "yellow" },
    { system: "Data", status: "red" },
    { system: "CLI", status: "blue" },
    { system: "Rest", status: "mauve" },
  ],
  incidents: [INCIDENT, { id: 6, title: "Over", resolved: true }],
  scheduled: [MAINTENANCE, { ...MAINTENANCE, id: 9, title: "Newer disks", created_at: hoursAgo(-3) }],
};

let answer: Answering;
const server = await aServer((seen, response) => answer(seen, response));
afterAll(() => server.close());
beforeEach(() => {
  answer = inOrder(CURRENT);
  server.seen.length = 0;
});

/** The address is the only setting. */
const environment = { PLATFORM_STATUS_URL: server.url, ALLOW_INSECURE_PLATFORM: "on" };
const run = (...words: string[]) => kit(environment, ["status", ...words]);
const runJson = (...words: string[]) => kitJson(environment, ["status", ...words]);

describe("kit status", () => {
  it("prints the feed's own JSON with --json", async () => {
    expect(await runJson()).toEqual({ code: 0, data: CURRENT });
    expect(server.seen).toMatchObject([{ method: "GET", url: "/api/v4/current-status", body: "" }]);
  });

  it("prints the systems, open incidents with their last update, and planned maintenance", async () => {
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n\n")[0]).toBe(
      "Apps   ● Available\nTools  ▲ Performance Degradation\nData   ■ Service Disruption\nCLI    ◆ Maintenance\nRest   mauve",
    );
    expect(stdout).toContain("1 incident open:\n\n#7 Slow [31m builds  monitoring\n  opened 2");
    expect(stdout).toMatch(/opened \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(5 h ago\), UTC\n/);
    expect(stdout).toContain("Tools (builds): ▲ Performance Degradation");
    expect(stdout).toMatch(/\(3 h ago\) {2}update {2}Update\n {4}The last word\./);
    expect(stdout).toContain("https://status.example/incidents/7");
    expect(stdout).toMatch(/Maintenance:\n\n#8 New disks {2}scheduled\n {2}opened .* \(2 days ago\), UTC/);
    expect(stdout).toMatch(/#9 Newer disks {2}scheduled\n {2}begins .* \(in 3 h\), UTC/);
    for (const other of ["first word", "Over", "\u001b"]) expect(stdout).not.toContain(other);
  });

  it.each([
    ["is missing", {}],
    ["cannot be read", { status: [null, 5] }],
  ])("says so when the list of systems %s", async (_, told) => {
    answer = inOrder({ incidents: [INCIDENT], ...told });
    const { code, stdout } = await run();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^The feed names no systems: how they are is not known\.\n\n1 incident open:\n/);
  });

  it("does not call an incident closed when the feed has no list of incidents", async () => {
    answer = inOrder({ status: CURRENT.status, incidents: "none" });
    const { stdout } = await run();
    expect(stdout).toMatch(/^Apps {3}● Available\n[^]+\n\nThe feed has no list of incidents\.\n$/);
  });

  it("lists a limited number of incidents since a day", async () => {
    answer = inOrder([INCIDENT]);
    expect(await runJson("--since", "2026-01-31", "--per-page", "5")).toEqual({ code: 0, data: [INCIDENT] });
    expect(server.seen[0]!.url).toBe("/api/v4/incidents?since=2026-01-31&per_page=5");
    const { stdout } = await run("--since", "2026-01-31");
    expect(stdout).toMatch(/^#7 Slow.*\n[^]*\n1 incident\. One with its story: kit status --incident 7\n$/);
    answer = inOrder([]);
    expect((await run("--per-page", "5")).stdout).toBe("There was no incident.\n");
  });

  it("prints one incident with all its updates", async () => {
    answer = inOrder(INCIDENT);
    expect(await runJson("--incident", "7")).toEqual({ code: 0, data: INCIDENT });
    expect(server.seen[0]!.url).toBe("/api/v4/incidents/7");
    expect((await run("--incident", "7")).stdout).toMatch(/The first word\.[^]*The last word\./);
  });

  it.each([
    ["a day that is none", ["--since", "2026-02-30"]],
    ["no page at all", ["--per-page", "0"]],
    ["an incident that is no number", ["--incident", "../current-status"]],
    ["an incident and a day", ["--incident", "7", "--since", "2026-01-31"]],
  ])("is a usage error with %s", async (_, words) => {
    const { code, data } = await runJson(...words);
    expect({ code, data }).toEqual({ code: 2, data: { id: "used_wrongly", message: expect.any(String) } });
    expect(server.seen).toEqual([]);
  });

  it.each<[string, Answering]>([
    ["503", inOrder(503)],
    ["a page", inOrder("<html>")],
    ["a broken line", (_, response) => void response.destroy()],
  ])("fails with a message when the feed answers %s", async (_, broken) => {
    answer = broken;
    const { code, data } = await runJson("--per-page", "1");
    expect({ code, data }).toEqual({
      code: 1,
      data: {
        id: "status_unavailable",
        message: expect.stringMatching(/^The status feed cannot be read: GET /),
      },
    });
  });

  it("fails when the feed is unreachable, the incident unknown, or the address missing", async () => {
    const { code, stderr } = await kit({ ...environment, PLATFORM_STATUS_URL: await aClosedPort() }, [
      "status",
    ]);
    expect(code).toBe(1);
    expect(stderr.replace(/\s+/g, " ")).toContain("go on without it");
    answer = inOrder(404);
    expect(await runJson("--incident", "9")).toEqual({
      code: 1,
      data: { id: "unknown_incident", message: "The status feed has no incident 9." },
    });
    const nowhere = await kit({}, ["status"]);
    expect(nowhere).toMatchObject({ code: 78, stderr: expect.stringContaining("PLATFORM_STATUS_URL") });
    expect(nowhere.stderr).not.toMatch(/DATABASE|ADDON|PLATFORM_API/);
  });
});
