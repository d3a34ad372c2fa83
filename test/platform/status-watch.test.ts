import { jest } from "@jest/globals";
import { createLog, type Log } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { createHttp } from "../../src/platform/http.ts";
import { createStatusWatch, type StatusWatch } from "../../src/platform/status-watch.ts";
import { eventually } from "../support/world.ts";
import { inOrder } from "./api-client.ts";
import { type Answering, aServer, closings } from "./local-server.ts";

const toClose = closings();
afterEach(() => jest.restoreAllMocks());

const GREEN = { status: [{ system: "Apps", status: "green" }], incidents: [], scheduled: [] };
const NOTE = { id: 7, title: "Slow builds", full_url: "https://status.example/incidents/7" };
const anIncident = (change = {}) => ({ ...NOTE, resolved: false, ...change });
const troubled = (...incidents: object[]) => ({ ...GREEN, incidents });

/** A watch on a real feed, asked at most every `everyMs`, and a log whose alarms it notes. */
async function aWatch(answer: Answering, everyMs = 60_000) {
  const { url, seen, close } = await aServer(answer);
  const http = createHttp();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log: Log = createLog("info", createScrubber("SVCK-"), destination, (alarm) => watch.noteOn(alarm));
  const watch: StatusWatch = createStatusWatch({ http, statusUrl: url }, log, everyMs);
  toClose.push(close, http.close, watch.close);
  return { watch, seen, log, lines };
}

describe("the watch on the status feed", () => {
  it("makes one call for all who ask", async () => {
    const { watch, seen } = await aWatch(inOrder(GREEN));
    expect([watch.known(), seen]).toEqual([{ last: null, failure: null }, []]);
    const told = await Promise.all([watch.look(), watch.look(), watch.look()]);
    expect(told.map(({ last }) => last?.status)).toEqual([GREEN, GREEN, GREEN]);
    expect((await watch.look()).last?.status).toEqual(GREEN);
    expect(seen).toHaveLength(1);
  });

  it("calls at most every 30 s, however often it is asked, and whether or not the feed answers", async () => {
    const { watch, seen } = await aWatch(inOrder(503), 30_000);
    const asked: number[] = [];
    for (const ms of [0, 29_999, 30_000, 59_999, 60_000]) {
      jest.spyOn(performance, "now").mockReturnValue(1_000 + ms);
      await watch.look();
      asked.push(seen.length);
    }
    expect(asked).toEqual([1, 1, 2, 2, 3]);
  });

  it("keeps its last state while the feed fails", async () => {
    const { watch } = await aWatch(inOrder(troubled(anIncident()), 503), 0);
    await watch.look();
    const { last, failure } = await watch.look();
    expect(last?.status.incidents).toHaveLength(1);
    expect(failure).toContain("503");
  });

  it("ends its call when it is closed, and makes no other", async () => {
    const { watch, seen } = await aWatch(() => undefined, 0);
    const asked = watch.look();
    await eventually(() => seen.length > 0);
    watch.close();
    expect(await asked).toMatchObject({ last: null, failure: expect.any(String) });
    await watch.look();
    expect(seen).toHaveLength(1);
  });
});

describe("an alarm in the log", () => {
  it("is written at once, and the open incident after it, once for all earlier alarms", async () => {
    const { log, lines, seen } = await aWatch(inOrder(troubled(anIncident())));
    for (const alarm of ["grant_lost", "grant_lost", "needs_reauth"]) log.error({ alarm }, "It ended");
    expect(lines.map((line) => line["incident"])).toEqual([undefined, undefined, undefined]);
    await eventually(() => lines.length === 4);
    const alarms = { grant_lost: 2, needs_reauth: 1 };
    expect(lines[3]).toMatchObject({ level: "warn", incident: NOTE, alarms });
    expect(lines[3]).not.toHaveProperty("alarm");
    expect(seen).toHaveLength(1);
  });

  it("names the open incident that changed last and the number of other ones, also in child loggers", async () => {
    const incidents = [
      anIncident({ id: 1, resolved: true, updated_at: "2026-01-03T00:00:00.000Z" }),
      anIncident({ id: 2, updated_at: "2026-01-01T00:00:00.000Z" }),
      anIncident({ id: 3, title: "New\nline", full_url: null, updated_at: "2026-01-02T00:00:00.000Z" }),
    ];
    const { log, lines, watch } = await aWatch(inOrder(troubled(...incidents)));
    await watch.look();
    log.child({ request: 5 }).warn({ alarm: "no_grant" }, "No grant");
    log.info({ uuid: "1" }, "No alarm");
    const incident = { id: 3, title: "New line", full_url: null, others: 1 };
    expect(lines[0]).toMatchObject({ alarm: "no_grant", request: 5, incident });
    expect(lines[1]).not.toHaveProperty("incident");
  });

  it.each<[string, object | number]>([
    ["all is well", GREEN],
    ["the feed does not answer", 503],
  ])("has no line after it when %s, and the next one asks again", async (_, answer) => {
    const { log, lines, seen, watch } = await aWatch(inOrder(answer, troubled(anIncident())), 0);
    log.error({ alarm: "grant_lost" }, "A grant ended");
    await eventually(() => watch.known().last !== null || watch.known().failure !== null);
    expect([lines.length, seen.length]).toEqual([1, 1]);
    log.error({ alarm: "grant_lost" }, "A grant ended");
    await eventually(() => lines.length === 3);
    expect(lines[2]).toMatchObject({ incident: NOTE, alarms: { grant_lost: 1 } });
  });
});
