import { type Answering, aServer, aClosedPort } from "../platform/local-server.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { partnerCalls } from "../support/partner-calls.ts";
import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, eventually, opened } from "../support/world.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";

/** Fault G5: the status feed is only information; none of its faults affects grants, refreshes or the log. */
const world = opened(() => aWorld());

/** The time limit of a call to the feed. */
const LONGEST_CALL_MS = 5_000;

const LIES = {
  status: [{ system: 5, status: { red: true } }, null, "Apps"],
  incidents: [
    { id: "../../oauth", title: "Not an id", resolved: false },
    { id: 7, title: { no: "text" }, resolved: "maybe", full_url: 5, updated_at: "never", updates: "none" },
    { id: 8, title: "x".repeat(100_000), resolved: false, full_url: "javascript:alert(1)", updates: [[[]]] },
  ],
  scheduled: "soon",
};

const modes: Record<string, Answering | null> = {
  down: null,
  "slow, without an end": () => undefined,
  garbled: (_, response) => response.end("<html>\u0000 not \ud800 json {"),
  huge: (_, response) => response.end(`{"status": [], "incidents": "${"x".repeat(5_000_000)}"}`),
  "in error": (_, response) => response.writeHead(503, { "retry-after": "3600" }).end("{}"),
  redirecting: ({ url }, response) => response.writeHead(307, { location: url }).end(),
  lying: (_, response) => response.end(JSON.stringify(LIES)),
};

const aFeed = async (answer: Answering | null) =>
  answer ? aServer(answer) : { url: await aClosedPort(), seen: [] };

const alarms = () =>
  world.lines(`"alarm":"no_grant"`).map((line) => JSON.parse(line) as { uuid: string; incident?: object });

describe.each(Object.entries(modes))("a status feed that is %s", (_, answer) => {
  it("delays nobody: grants are exchanged, tokens refreshed and alarms written", async () => {
    const { url, seen } = await aFeed(answer);
    await world.restart({ environment: { PLATFORM_STATUS_URL: url } });
    const { services } = world.service;

    const uuid = await world.settled();
    const { row } = tokenPairs(world);
    await refreshNow(services, uuid);
    expect(await row(uuid)).toMatchObject({ state: "active", generation: 2 });
    expect(seen).toEqual([]); // nobody asked

    const uuids = await provisionsWithoutGrant(3);
    expect(alarms().filter(({ uuid }) => uuids.includes(uuid))).toHaveLength(3);
    await refreshNow(services, uuid);
    expect(await row(uuid)).toMatchObject({ state: "active", generation: 3 });
    if (answer) await eventually(() => seen.length > 0);
    expect(seen.length).toBeLessThanOrEqual(1);

    const stopping = performance.now();
    await world.service.stop();
    expect(performance.now() - stopping).toBeLessThan(LONGEST_CALL_MS);
  });
});

it("an open incident at the platform is named by each alarm after it was read, until it is resolved", async () => {
  const { control } = world.sandbox;
  const isRead = () => eventually(async () => (await world.service.services.status.look()).last !== null);
  const noted = async () => {
    const [uuid] = await provisionsWithoutGrant(1);
    return alarms().find((alarm) => alarm.uuid === uuid);
  };
  await world.restart();
  const { id, full_url } = control.openIncident({ title: "Apps are slow", systems: ["Apps"] });
  expect(await noted()).not.toHaveProperty("incident");
  await isRead();
  expect(await noted()).toMatchObject({ incident: { id, title: "Apps are slow", full_url } });
  control.resolveIncident(id);
  await world.restart(); // a new process, which has not asked yet
  await isRead();
  expect(await noted()).not.toHaveProperty("incident");
});

async function provisionsWithoutGrant(count: number): Promise<string[]> {
  const requests = Array.from({ length: count }, () => aProvisionRequest({ oauth_grant: null }));
  for (const request of requests) {
    const { status } = await partnerCalls(world).provision(request);
    expect(status).toBe(200);
  }
  return requests.map(({ uuid }) => uuid);
}
