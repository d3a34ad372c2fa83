import { refreshNow } from "../../src/credentials/pools.ts";
import { currentStatus, openIncidents } from "../../src/platform/status.ts";
import { type Answer, PLAYED, playedPlatform } from "../support/played-platform.ts";
import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, opened } from "../support/world.ts";
import { anHttp } from "./local-server.ts";

const platform = playedPlatform();
const CURRENT = "GET /api/v4/current-status";

function readFrom(body: object) {
  platform.answers(CURRENT, { body: JSON.stringify(body) });
  return currentStatus({ http: anHttp(), statusUrl: PLAYED.PLATFORM_STATUS_URL });
}

const INCIDENT = { title: "Slow builds", state: "investigating", resolved: false, resolved_at: null };

describe("reading the status feed", () => {
  it("accepts missing members and new values", async () => {
    const updates = [{ created_at: "2026-01-31T12:00:00+0100" }, "no"];
    const odd = { id: 7, state: "resolved", updates, tags: [1] };
    const said = { status: [{ system: "Apps", status: "mauve" }], incidents: [odd, 5] };
    const { value } = await readFrom(said);
    expect(value.status).toEqual([{ system: "Apps", status: "mauve" }]);
    expect(value.scheduled).toEqual([]);
    const update = { created_at: "2026-01-31T11:00:00.000Z", contents: "", update_type: null };
    const incident = { id: 7, title: "", resolved: true, updates: [update] };
    expect(value.incidents).toMatchObject([incident]);
  });

  it("returns the open incidents", async () => {
    const incidents = [
      { ...INCIDENT, id: 1 },
      { ...INCIDENT, id: 3, resolved: true },
      { ...INCIDENT, id: 4, updated_at: "once" },
      { ...INCIDENT, id: 5, state: "resolved" },
      { ...INCIDENT, id: 6, resolved_at: "2026-01-31T13:00:00.000Z" },
      { ...INCIDENT, id: "a-7" },
      { title: "Without an id" },
    ];
    const { value } = await readFrom({ status: [], incidents });
    expect(openIncidents(value)?.map(({ id }) => id)).toEqual([1, 4, "a-7", null]);
  });

  it.each([
    [{ state: "completed", resolved: false }, true],
    [{ ends_at: "2020-01-31T13:00:00.000Z" }, true],
    [{ resolved_at: "2120-01-31T13:00:00.000Z" }, false],
  ])("knows whether a maintenance is over: %j", async (members, isOver) => {
    const { value } = await readFrom({ status: [], scheduled: [{ ...INCIDENT, ...members }] });
    expect(value.scheduled).toMatchObject([{ resolved: isOver }]);
  });
});

const LIES = {
  status: [{ system: 5, status: { red: true } }, null, "Apps"],
  incidents: [
    { id: "../../oauth", title: "Not an id", resolved: false },
    { id: 7, title: { no: "text" }, resolved: "maybe", full_url: 5, updated_at: "never", updates: "none" },
    { id: 8, title: "x".repeat(100_000), resolved: false, full_url: "javascript:alert(1)", updates: [[[]]] },
  ],
  scheduled: "soon",
};

const modes: Record<string, Answer> = {
  down: { instead: "no connection" },
  "slow, without an end": { instead: "silence" },
  lying: { body: JSON.stringify(LIES) },
};

const world = opened(() => aWorld({ environment: { HOST: "127.0.0.1" } }));

/** Fault G5: the status feed is only information; none of its faults affects grants, refreshes or the log. */
describe.each(Object.entries(modes))("a status feed that is %s", (_, answer) => {
  it("delays nobody: grants are exchanged and tokens refreshed, and it is called once for all who ask", async () => {
    const { PLATFORM_STATUS_URL } = PLAYED;
    await world.restart({ environment: { PLATFORM_STATUS_URL } });
    platform.answers(CURRENT, answer);
    const { services } = world.service;
    const look = services.status();
    const uuid = await world.settled();
    await refreshNow(services, uuid);
    expect(await tokenPairs(world).row(uuid)).toMatchObject({ state: "active", generation: 2 });
    expect(await services.status()).toBe(await look);
    expect(await services.status()).toBe(await look);
  });
});
