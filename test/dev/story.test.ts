import { describe, expect, it } from "@jest/globals";
import { meaningOf } from "../../dev/meaning.ts";
import { createNarrator } from "../../dev/narrator.ts";
import { otherPlan } from "../../dev/other-plan.ts";
import { tellCall } from "../../dev/story.ts";
import type { LedgerEntry } from "../../packages/sandbox/index.ts";
import { offer } from "../support/teapots/plans.ts";

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
const configVars = [{ name: "TEAPOT_URL" }];

const table: [call: LedgerEntry, meaning: RegExp][] = [
  [
    aCall("out POST /resources", 200, { config }, { plan: "basic" }),
    /installed basic on the app "shop". You answered with 2 config vars: TEAPOT_URL and TEAPOT_TOKEN/,
  ],
  [aCall("out POST /resources", 202, {}, { plan: "dedicated" }), /You answered "later"/],
  [aCall("out POST /resources", 422, { id: "x", message: "No such plan." }), /^You refused: No such plan.$/],
  [aCall("out POST /resources", 500, { message: "Oops." }), /^You failed: Oops.$/],
  [aCall("out POST /resources", null), /^There was no answer.$/],
  [
    aCall(`out PUT /resources/${UUID}`, 200, { config }, { plan: "premium" }),
    /teapots-calm-1 chose the plan premium. You answered with 2 config vars/,
  ],
  [
    aCall(`out PUT /resources/${UUID}`, 200, { message: "The plan is basic already." }, { plan: "basic" }),
    /chose the plan basic\. You answered: The plan is basic already\.$/,
  ],
  [
    aCall("out POST /resources", 200, { config: {} }, { plan: "basic" }),
    /You answered without config vars\.$/,
  ],
  [aCall(`out DELETE /resources/${UUID}`, 204, null), /removed teapots-calm-1/],
  [
    aCall("in POST /oauth/token", 200, { expires_in: 28800 }, code),
    /exchanged the grant for an access token \(8 hours\)/,
  ],
  [
    aCall("in POST /oauth/token", 201, { expires_in: 20 }, refresh),
    /refreshed: a new access token for 20 seconds/,
  ],
  [
    aCall("in POST /oauth/token", 400, { error: "invalid_grant" }, code),
    /^The platform refused: invalid_grant$/,
  ],
  [aCall(`in GET /addons/${UUID}`, 200, { app: { name: "shop" } }), /on the app "shop"/],
  [aCall(`in GET /addons/${UUID}/addon-attachments`, 206, [{ app: { name: "blog" } }]), /attached: "blog"/],
  [aCall(`in GET /addons/${UUID}/config`, 200, []), /none yet/],
  [aCall(`in PATCH /addons/${UUID}/config`, 200, configVars), /set the app's config vars: TEAPOT_URL/],
  [aCall(`in POST /addons/${UUID}/actions/provision`, 200), /is provisioned now/],
  [aCall("in GET /account", 200, { email: "a@example.com" }), /whose token this is: a@example.com's/],
  [aCall("in POST /oauth/token", 200, { user_id: UUID, expires_in: 28800 }, code), /^Somebody signs in/],
  [aCall("in GET /oauth/authorize?state=x", 200), /somebody's browser/],
  [aCall("in GET /", 401), /it does/],
  [aCall("in GET /addons", 503, { message: "Down." }), /^The platform failed: Down.$/],
  [aCall("in GET /somewhere/else", 200), /^$/],
];

describe("the description of a call in the output of npm run dev", () => {
  it.each(table)("is right for each kind of call: %#", (entry, meaning) => {
    expect(meaningOf(entry, "/resources", known)).toMatch(meaning);
  });

  it("is the same below another base path", () => {
    const entry = aCall(`out DELETE /teapots/v1/${UUID}`, 204, null);
    expect(meaningOf(entry, "/teapots/v1", known)).toMatch(/removed/);
  });

  it("differs for a request that is delivered again", () => {
    const entry = aCall("out POST /resources", 200, { config }, { plan: "basic" });
    expect(meaningOf(entry, "/resources", { ...known, isExchanged: true })).toMatch(/delivered again/);
  });
});

describe("the plan that npm run demo changes to", () => {
  const [small, large] = [{ description: "" }, { description: "" }];
  const slow = { description: "", later: "It is being made." };
  const from = (plan: string, plans: Record<string, typeof small>) => otherPlan({ ...offer, plans }, plan);

  it("is the next one, or else an earlier one; one that takes longer only if there is no other", () => {
    expect(from("small", { small, slow, large })).toBe("large");
    expect(from("large", { small, slow, large })).toBe("small");
    expect(from("small", { small, slow })).toBe("slow");
    expect(from("small", { small })).toBeUndefined();
  });
});

describe("the output of npm run dev", () => {
  it("describes a call in lines that fit a terminal", () => {
    const told = tellCall(aCall(`out PUT /resources/${UUID}`, 200), "word ".repeat(60).trim());
    const lines = told.split("\n");
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}platform → you {2}PUT \/resources\/01234567… +200 +12 ms$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(96);
  });

  it("describes the authorize page separately, without the browser's cookies", () => {
    const told = tellCall(aCall("in GET /oauth/authorize?client_id=1&state=abc", 200), "");
    expect(told).toMatch(/they → platform {2}GET \/oauth\/authorize\?… +200/);
  });

  it("counts repeated calls instead of listing them", () => {
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
});
