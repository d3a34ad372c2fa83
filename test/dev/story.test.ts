// What npm run dev prints: each call in plain words, and the causes of what the service warns about.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { meaningOf } from "../../dev/meaning.ts";
import { createNarrator } from "../../dev/narrator.ts";
import { openServiceLog } from "../../dev/service-log.ts";
import { tellCall } from "../../dev/story.ts";
import type { LedgerEntry } from "../../packages/sandbox/index.ts";

const UUID = "01234567-89ab-4cde-8f01-23456789abcd";
const known = { name: "teapots-calm-1", app: "shop", isExchanged: false };

function aCall(
  call: string,
  status: number | null,
  answer: unknown = {},
  request: unknown = {},
): LedgerEntry {
  const [who, method, path] = call.split(" ") as ["in" | "out", string, string];
  const response = status === null ? null : { status, headers: {}, body: answer };
  return {
    ...{ seq: 1, at: "2026-01-01T12:00:00.000Z", direction: who, method, path, ms: 12.3 },
    ...{ request: { headers: {}, body: request }, response },
  };
}

const config = { TEAPOT_URL: "[secret]", TEAPOT_TOKEN: "[secret]" };
const code = { grant_type: "authorization_code" };
const refresh = { grant_type: "refresh_token" };
const resource = `/resources/${UUID}`;
const addon = `/addons/${UUID}`;

it.each<[call: LedgerEntry, meaning: RegExp]>([
  [
    aCall("out POST /resources", 200, { config }, { plan: "basic" }),
    /installed basic on the app "shop". You answered with 2 config vars: TEAPOT_URL and TEAPOT_TOKEN/,
  ],
  [aCall("out POST /resources", 202, {}, { plan: "dedicated" }), /You answered "later"/],
  [aCall("out POST /resources", 422, { id: "x", message: "No such plan." }), /^You refused: No such plan.$/],
  [aCall("out POST /resources", 500, { message: "Oops." }), /^You failed: Oops.$/],
  [aCall("out POST /resources", null), /^There was no answer.$/],
  [aCall(`out PUT ${resource}`, 200, { config }, { plan: "premium" }), /-calm-1 chose the plan premium/],
  [aCall(`out DELETE ${resource}`, 204, null), /removed teapots-calm-1/],
  [aCall("in POST /oauth/token", 200, { expires_in: 28800 }, code), /exchanged the grant .* \(8 hours\)/],
  [aCall("in POST /oauth/token", 201, { expires_in: 20 }, refresh), /a new access token for 20 seconds/],
  [aCall("in POST /oauth/token", 400, { error: "invalid_grant" }, code), /platform refused: invalid_grant$/],
  [aCall(`in GET ${addon}`, 200, { app: { name: "shop" } }), /on the app "shop"/],
  [aCall(`in GET ${addon}/addon-attachments`, 206, [{ app: { name: "blog" } }]), /attached: "blog"/],
  [aCall(`in PATCH ${addon}/config`, 200, [{ name: "TEAPOT_URL" }]), /set the app's config vars: TEAPOT_URL/],
  [aCall(`in POST ${addon}/actions/provision`, 200), /is provisioned now/],
  [aCall("in POST /oauth/token", 200, { user_id: UUID, expires_in: 28800 }, code), /^Somebody signs in/],
  [aCall("in GET /addons", 503, { message: "Down." }), /^The platform failed: Down.$/],
  [aCall("in GET /somewhere/else", 200), /^$/],
])("npm run dev says what a call means: %#", (entry, meaning) => {
  expect(meaningOf(entry, "/resources", known)).toMatch(meaning);
});

it("npm run dev describes a call in lines that fit a terminal", () => {
  const lines = tellCall(aCall(`out PUT ${resource}`, 200), "word ".repeat(60).trim()).split("\n");
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}platform → you {2}PUT \/resources\/01234567… +200 +12 ms$/);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(96);
});

it("npm run dev counts repeated calls instead of listing them", () => {
  const printed: string[] = [];
  const narrator = createNarrator(
    (text) => void printed.push(text),
    ({ path }) => path,
  );
  for (let page = 1; page <= 50; page++) narrator.call(aCall("in GET /apps", 206));
  narrator.call(aCall("in POST /oauth/token", 200));
  narrator.close();
  expect(printed).toHaveLength(7);
  expect(printed.at(-1)).toMatch(/and 45 more like it: GET \/apps 206/);
});

it("npm run dev shows the cause of a warning, whatever was thrown, and keeps every line in its file", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "service-log-"));
  const told: string[] = [];
  const file = path.join(folder, "service.log");
  const log = openServiceLog(file, (_at, _isError, text) => told.push(text));
  const time = "2026-01-31T12:00:00Z";
  for (const error of [{ message: "an error's message" }, "a text that was thrown", undefined])
    log.write(`${JSON.stringify({ level: "warn", time, msg: "Failed", error })}\n`);
  log.write('{"level":"info","msg":"all is well"}\n');
  await log.close();
  expect(told).toEqual(["Failed: an error's message", "Failed: a text that was thrown", "Failed"]);
  expect((await readFile(file, "utf8")).split("\n")).toHaveLength(5);
  await rm(folder, { recursive: true });
});
