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
  scheduled: [MAINTENANCE],
};

let answer: Answering;
const server = await aServer((seen, response) => answer(seen, response));
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

  it("prints the systems, open incidents with their updates, and planned maintenance", async () => {
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const part of [
      "Apps: Available\nTools: Performance Degradation\nData: Service Disruption\nCLI: Maintenance\nRest: mauve\n",
      "1 open incident.\n#7 Slow\\u001b[31m builds  monitoring, since ",
      "  update  The last word.\n1 maintenance window.\n#8 New disks  scheduled, since ",
    ])
      expect(stdout).toContain(part);
    expect(stdout).not.toContain("Over");
  });

  it("does not call an incident closed when the feed has no list of incidents", async () => {
    answer = inOrder({ status: CURRENT.status, incidents: "none" });
    expect((await run()).stdout).toContain("\nThe feed has no list of incidents.\n");
  });

  it("lists a limited number of incidents since a day", async () => {
    answer = inOrder([INCIDENT]);
    expect(await runJson("--since", "2026-01-31", "--per-page", "5")).toEqual({ code: 0, data: [INCIDENT] });
    expect(server.seen[0]!.url).toBe("/api/v4/incidents?since=2026-01-31&per_page=5");
    answer = inOrder([{ title: "Over", state: "monitoring", resolved: true }]);
    expect((await run("--since", "2026-01-31")).stdout).toMatch(/^1 incident\.\nOver {2}resolved\n/);
  });

  it("prints one incident with all its updates", async () => {
    answer = inOrder(INCIDENT);
    expect(await runJson("--incident", "7")).toEqual({ code: 0, data: INCIDENT });
    expect(server.seen[0]!.url).toBe("/api/v4/incidents/7");
    expect((await run("--incident", "7")).stdout).toMatch(/The first word\.[^]*The last word\./);
  });

  it("fails when the feed is unreachable, the incident unknown or a path, or the address missing", async () => {
    expect(await runJson("--incident", "..")).toMatchObject({ code: 2 });
    expect(server.seen).toEqual([]);
    const away = { ...environment, PLATFORM_STATUS_URL: await aClosedPort() };
    expect(await kitJson(away, ["status"])).toMatchObject({ code: 1, data: { id: "connection_failed" } });
    answer = inOrder(404);
    expect(await runJson("--incident", "9")).toMatchObject({
      code: 1,
      data: { message: expect.stringContaining("404") },
    });
    const nowhere = await kit({}, ["status"]);
    expect(nowhere).toMatchObject({ code: 78, stderr: expect.stringContaining("PLATFORM_STATUS_URL") });
    expect(nowhere.stderr).not.toMatch(/DATABASE|ADDON|PLATFORM_API/);
  });
});
