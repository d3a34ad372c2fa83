import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { createLog } from "../../src/logging/log.ts";
import { createHttp } from "../../src/platform/http.ts";
import { createIncidentNotes, createStatusWatch } from "../../src/platform/status-watch.ts";
import { currentStatus } from "../../src/platform/status.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { eventually } from "../support/world.ts";
import { inOrder } from "./api-client.ts";
import { type Answering, aServer } from "./local-server.ts";

let closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
});

const GREEN = { status: [{ system: "Apps", status: "green" }], incidents: [], scheduled: [] };
const anIncident = (change = {}) => ({
  id: 7,
  title: "Slow builds",
  resolved: false,
  full_url: "https://status.example/incidents/7",
  ...change,
});
const troubled = (...incidents: object[]) => ({ ...GREEN, incidents });
const NOTE = { id: 7, title: "Slow builds", full_url: "https://status.example/incidents/7" };

/** A watch on a real feed, asked at most every `everyMs`. */
async function aWatch(answer: Answering, everyMs = 60_000) {
  const { url, seen, close } = await aServer(answer);
  const http = createHttp();
  const feed = { http, statusUrl: url, timeoutMs: 10_000 };
  const watch = createStatusWatch((signal) => currentStatus(feed, signal), everyMs);
  closing.push(watch.close, http.close, close);
  return { watch, seen };
}

describe("the watch on the status feed", () => {
  it("makes no call before it is asked, and one for all who ask", async () => {
    const { watch, seen } = await aWatch(inOrder(GREEN));
    expect(watch.known()).toEqual({ last: null, failure: null });
    await sleep(30);
    expect(seen).toHaveLength(0);
    const told = await Promise.all([watch.look(), watch.look(), watch.look()]);
    expect(told.map(({ last }) => last?.status)).toEqual(Array(3).fill(GREEN));
    expect((await watch.look()).last?.status).toEqual(GREEN);
    expect(seen).toHaveLength(1);
  });

  it("calls at most every 30 s, however often it is asked", async () => {
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

  it("keeps its last state while the feed fails, and calls a failing feed no more often", async () => {
    const { watch, seen } = await aWatch(inOrder(troubled(anIncident()), 503), 100);
    await watch.look();
    await sleep(110);
    const known = await watch.look();
    expect(known.last?.status.incidents).toHaveLength(1);
    expect(known.failure).toContain("503");
    for (let times = 0; times < 20; times++) expect(await watch.look()).toBe(known);
    expect(seen).toHaveLength(2);
  });

  it("cancels its call when it is closed, and makes no other", async () => {
    const { watch, seen } = await aWatch(() => undefined);
    const asked = watch.look();
    await eventually(() => seen.length > 0);
    const begun = performance.now();
    watch.close();
    expect(await asked).toMatchObject({ last: null, failure: expect.any(String) });
    await watch.look();
    // Less than the time limit of a call.
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(seen).toHaveLength(1);
  });
});

/** A log whose alarms are noted from a real feed. */
async function aLog(answer: Answering, everyMs = 60_000) {
  const lines: Record<string, unknown>[] = [];
  const { watch, seen } = await aWatch(answer, everyMs);
  const noteOn = createIncidentNotes({
    status: watch,
    log: { warn: (...line: unknown[]) => log.warn(...(line as [object, string])) },
  });
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog("info", createScrubber("SVCK-"), destination, noteOn);
  const until = (count: number) => eventually(() => lines.length >= count);
  return { log, lines, seen, watch, until };
}

describe("an alarm in the log", () => {
  it("is written at once, and the open incident after it, once for all earlier alarms", async () => {
    const { log, lines, seen, until } = await aLog(inOrder(troubled(anIncident())));
    log.error({ alarm: "grant_lost", uuid: "1" }, "A grant ended");
    log.error({ alarm: "grant_lost", uuid: "2" }, "A grant ended");
    log.error({ alarm: "needs_reauth", uuid: "3" }, "Refused");
    expect(lines).toHaveLength(3);
    expect(lines[0]).not.toHaveProperty("incident");
    await until(4);
    expect(lines[3]).toMatchObject({
      level: "warn",
      incident: NOTE,
      alarms: { grant_lost: 2, needs_reauth: 1 },
      msg: expect.stringContaining("incident"),
    });
    expect(lines[3]).not.toHaveProperty("alarm");
    expect(seen).toHaveLength(1);
  });

  it("names a known open incident, also in child loggers", async () => {
    const { log, lines, seen, watch } = await aLog(inOrder(troubled(anIncident())));
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
    expect(seen).toHaveLength(1);
  });

  it("names the incident that changed last and the number of other open ones, and no resolved one", async () => {
    const at = (updated_at: string) => ({ updated_at });
    const incidents = [
      anIncident({ id: 1, resolved: true, ...at("2026-01-03T00:00:00.000Z") }),
      anIncident({ id: 2, ...at("2026-01-01T00:00:00.000Z") }),
      anIncident({ id: 3, title: "New\nline", full_url: null, ...at("2026-01-02T00:00:00.000Z") }),
    ];
    const { log, lines, watch } = await aLog(inOrder(troubled(...incidents)));
    await watch.look();
    log.error({ alarm: "grant_lost" }, "A grant ended");
    expect(lines[0]!["incident"]).toEqual({ id: 3, title: "New line", full_url: null, others: 1 });
  });

  it("has no line after it when all is well, and names an incident that opened since", async () => {
    const { log, lines, seen, watch, until } = await aLog(inOrder(GREEN, troubled(anIncident())), 100);
    await watch.look();
    log.error({ alarm: "grant_lost" }, "A grant ended");
    await sleep(100);
    log.error({ alarm: "grant_lost" }, "A grant ended");
    await until(3);
    expect(lines[2]).toMatchObject({ incident: NOTE, alarms: { grant_lost: 1 } });
    expect(seen).toHaveLength(2);
  });

  it("has no line after it when the feed does not answer", async () => {
    const { log, lines, seen } = await aLog(inOrder(503));
    for (let count = 0; count < 100; count++) log.error({ alarm: "grant_lost" }, "A grant ended");
    await eventually(() => seen.length > 0);
    await sleep(100);
    expect(lines).toHaveLength(100);
    expect(lines.some((line) => "incident" in line)).toBe(false);
    expect(seen).toHaveLength(1);
  });

  it("causes no call when LOG_LEVEL drops it", async () => {
    const { log, lines, seen } = await aLog(inOrder(GREEN));
    log.debug({ alarm: "grant_lost" }, "Not written");
    log.info("An ordinary line");
    await sleep(50);
    expect({ lines: lines.length, calls: seen.length }).toEqual({ lines: 1, calls: 0 });
  });
});
