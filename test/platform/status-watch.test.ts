import { createLog, type Log } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/secret.ts";
import { createHttp } from "../../src/platform/http.ts";
import { createStatusWatch } from "../../src/platform/status.ts";
import { eventually } from "../support/world.ts";
import { inOrder } from "./api-client.ts";
import { type Answering, aServer, closings } from "./local-server.ts";

const toClose = closings();

const GREEN = { status: [{ system: "Apps", status: "green" }], incidents: [], scheduled: [] };
const NOTE = { id: 7, title: "Slow builds", full_url: "https://status.example/incidents/7" };
const anIncident = (change = {}) => ({ ...NOTE, resolved: false, ...change });
const troubled = (...incidents: object[]) => ({ ...GREEN, incidents });

/** A watch on a real feed, asked at most every `everyMs`, and a log whose alarms it notes. */
async function aWatch(answer: Answering, everyMs?: number) {
  const { url, seen, close } = await aServer(answer);
  const http = createHttp();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const watch = createStatusWatch({ http, statusUrl: url }, everyMs);
  const log: Log = createLog("info", createScrubber("SVCK-"), destination, () => watch.note());
  toClose.push(close, http.close, watch.close);
  return { watch, seen, log, lines };
}

describe("the watch on the status feed", () => {
  it.each([GREEN, 503])("makes one call for all who ask, also if the feed fails (%j)", async (answer) => {
    const { watch, seen } = await aWatch(inOrder(answer));
    expect(seen).toEqual([]);
    await Promise.all([watch.look(), watch.look()]);
    await watch.look();
    expect(seen).toHaveLength(1);
  });

  it("keeps its last state while the feed fails", async () => {
    const { watch } = await aWatch(inOrder(troubled(anIncident()), 503), 0);
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
    anIncident({ id: 1, resolved: true, updated_at: "2026-01-03T00:00:00.000Z" }),
    anIncident({ id: 2, updated_at: "2026-01-01T00:00:00.000Z" }),
    anIncident({ id: 3, title: "New\nline", full_url: null, updated_at: "2026-01-02T00:00:00.000Z" }),
  ];
  const { log, lines, watch } = await aWatch(inOrder(troubled(...incidents)));
  log.error({ alarm: "grant_lost" }, "A grant ended");
  expect(lines[0]).not.toHaveProperty("incident");
  await watch.look();
  log.child({ request: 5 }).warn({ alarm: "no_grant" }, "No grant");
  log.info({ uuid: "1" }, "No alarm");
  const incident = { id: 3, title: "New line", full_url: null, others: 1 };
  expect(lines[1]).toMatchObject({ alarm: "no_grant", request: 5, incident });
  expect(lines[2]).not.toHaveProperty("incident");
});
