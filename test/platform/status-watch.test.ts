import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { createLog } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { createHttp } from "../../src/platform/http.ts";
import { createIncidentNotes, createStatusWatch } from "../../src/platform/status-watch.ts";
import { currentStatus } from "../../src/platform/status.ts";
import { eventually } from "../support/world.ts";
import { inOrder } from "./api-client.ts";
import { type Answering, aServer } from "./local-server.ts";

let closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
});

const GREEN = { status: [{ system: "Apps", status: "green" }], incidents: [], scheduled: [] };
const NOTE = { id: 7, title: "Slow builds", full_url: "https://status.example/incidents/7" };
const anIncident = (change = {}) => ({ ...NOTE, resolved: false, ...change });
const troubled = (...incidents: object[]) => ({ ...GREEN, incidents });

/** A watch on a real feed, asked at most every `everyMs`. */
async function aWatch(answer: Answering, everyMs = 60_000) {
  const { url, seen, close } = await aServer(answer);
  const http = createHttp();
  const feed = { http, statusUrl: url, timeoutMs: 60_000 };
  const watch = createStatusWatch((signal) => currentStatus(feed, signal), everyMs);
  closing.push(watch.close, http.close, close);
  return { watch, seen };
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
    const current = jest.fn(() => Promise.reject(new Error("away")));
    const watch = createStatusWatch(current);
    const asked: number[] = [];
    for (const ms of [0, 29_999, 30_000, 59_999, 60_000]) {
      const now = jest.spyOn(performance, "now").mockReturnValue(1_000 + ms);
      await watch.look();
      now.mockRestore();
      asked.push(current.mock.calls.length);
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

/** A log whose alarms are noted from a real feed. */
async function aLog(answer: Answering, everyMs?: number) {
  const lines: Record<string, unknown>[] = [];
  const { watch, seen } = await aWatch(answer, everyMs);
  const noteOn = createIncidentNotes({
    status: watch,
    log: { warn: (...line: unknown[]) => log.warn(...(line as [object, string])) },
  });
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog("info", createScrubber("SVCK-"), destination, noteOn);
  return { log, lines, seen, watch };
}

describe("an alarm in the log", () => {
  it("is written at once, and the open incident after it, once for all earlier alarms", async () => {
    const { log, lines, seen } = await aLog(inOrder(troubled(anIncident())));
    for (const alarm of ["grant_lost", "grant_lost", "needs_reauth"]) log.error({ alarm }, "It ended");
    expect(lines.map((line) => line["incident"])).toEqual([undefined, undefined, undefined]);
    await eventually(() => lines.length === 4);
    const alarms = { grant_lost: 2, needs_reauth: 1 };
    expect(lines[3]).toMatchObject({ level: "warn", incident: NOTE, alarms });
    expect(lines[3]).not.toHaveProperty("alarm");
    expect(seen).toHaveLength(1);
  });

  it("names a known open incident, also in child loggers", async () => {
    const { log, lines, watch } = await aLog(inOrder(troubled(anIncident())));
    await watch.look();
    log.error({ alarm: "grant_lost", uuid: "1" }, "A grant ended");
    log.child({ request: 5 }).warn({ alarm: "no_grant" }, "No grant");
    log.info({ uuid: "1" }, "No alarm");
    expect(lines).toMatchObject([
      { alarm: "grant_lost", uuid: "1", incident: NOTE, msg: "A grant ended" },
      { alarm: "no_grant", request: 5, incident: NOTE },
      { msg: "No alarm" },
    ]);
    expect(lines[2]).not.toHaveProperty("incident");
  });

  it("names the incident that changed last and the number of other open ones, and no resolved one", async () => {
    const incidents = [
      anIncident({ id: 1, resolved: true, updated_at: "2026-01-03T00:00:00.000Z" }),
      anIncident({ id: 2, updated_at: "2026-01-01T00:00:00.000Z" }),
      anIncident({ id: 3, title: "New\nline", full_url: null, updated_at: "2026-01-02T00:00:00.000Z" }),
    ];
    const { log, lines, watch } = await aLog(inOrder(troubled(...incidents)));
    await watch.look();
    log.error({ alarm: "grant_lost" }, "A grant ended");
    expect(lines[0]!["incident"]).toEqual({ id: 3, title: "New line", full_url: null, others: 1 });
  });

  it.each<[string, object | number]>([
    ["all is well", GREEN],
    ["the feed does not answer", 503],
  ])("has no line after it when %s, and the next one asks again", async (_, answer) => {
    const { log, lines, seen, watch } = await aLog(inOrder(answer, troubled(anIncident())), 0);
    log.error({ alarm: "grant_lost" }, "A grant ended");
    await eventually(() => watch.known().last !== null || watch.known().failure !== null);
    expect([lines.length, seen.length]).toEqual([1, 1]);
    log.error({ alarm: "grant_lost" }, "A grant ended");
    await eventually(() => lines.length === 3);
    expect(lines[2]).toMatchObject({ incident: NOTE, alarms: { grant_lost: 1 } });
  });

  it("causes no call when LOG_LEVEL drops it", async () => {
    const { log, lines, seen } = await aLog(inOrder(GREEN));
    log.debug({ alarm: "grant_lost" }, "Not written");
    log.info("An ordinary line");
    await new Promise(setImmediate);
    expect({ lines: lines.length, calls: seen.length }).toEqual({ lines: 1, calls: 0 });
  });
});
