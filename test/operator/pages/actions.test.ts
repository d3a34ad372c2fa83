import { randomBytes } from "node:crypto";
import { BY_PASSWORD, findAction } from "../../../src/operator/audit.ts";
import { createActionRunner } from "../../../src/operator/pages/actions.tsx";
import { purposeOf } from "../../../src/operator/pages/frame.tsx";
import { tokenFor } from "../../../src/pages/forms.ts";
import type { TokenEndpoint } from "../../../src/platform/oauth.ts";
import { buildText } from "../../../src/version.ts";
import { aGate } from "../../support/a-vendor.ts";
import { interleavings, lost } from "../../support/interleavings.ts";
import { eventually, opened } from "../../support/world.ts";
import { aWorldOfAnOperator, hiddenIn } from "./operator.ts";

// Who may open the pages, and what their buttons do.

let uuid: string;
/** Until it is opened, no refresh is sent. */
let gate = aGate();
gate.open();
/** Refreshes that have come to the gate. */
let atGate = 0;
const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
  ...endpoint,
  refresh(...given) {
    atGate += 1;
    return gate.opened.then(() => endpoint.refresh(...given));
  },
});
const operator = opened(() =>
  aWorldOfAnOperator({
    environment: { LEGACY_GRANTS: "on" },
    sandbox: { legacyGrants: true },
    parts: { wrapTokenEndpoint },
  }),
);
beforeAll(async () => {
  uuid = await operator.life.settled();
});
beforeEach(() => operator.world.forged.nothingIsLeftOf("operator_actions"));
afterEach(() => {
  gate.open();
  operator.control.clearFaults();
});
const closeGate = () => void ([gate, atGate] = [aGate(), 0]);
/** Stops the service while a refresh waits at the gate, which is opened then. */
async function restartDuringRefresh(): Promise<void> {
  await eventually(() => atGate > 0);
  const restarted = operator.world.restart();
  gate.open();
  await restarted;
}

const generation = async () => (await operator.life.credential(uuid))!.generation;

describe("access to /operator", () => {
  it.each(["", "/resources", "/actions", "/secret", "/nothing"])(
    "requires the password: /operator%s",
    async (path) => {
      for (const authorization of ["", `Basic ${btoa("operator:wrong")}`, `Basic ${btoa("teapots:x")}`]) {
        const { status, headers, html } = await operator.get(path, { authorization });
        expect([status, headers.get("www-authenticate")]).toEqual([401, `Basic realm="operator"`]);
        expect(JSON.parse(html)).toMatchObject({ id: "unauthorized" });
      }
    },
  );

  it.each([
    ["/resources", ""],
    ["", ";script-src 'self';connect-src 'self'"],
  ])(
    "allows no script but ours where a page renews itself, no caching and no framing: /operator%s",
    async (path, more) => {
      const { status, headers, html } = await operator.get(path);
      expect(status).toBe(200);
      expect(headers.get("content-security-policy")).toBe(
        `default-src 'none';style-src 'self';img-src data:;form-action 'self';frame-ancestors 'none';base-uri 'none'${more}`,
      );
      expect([headers.get("cache-control"), headers.get("x-frame-options")]).toEqual(["no-store", "DENY"]);
      expect(html.replace(/<script defer src="[^"]+"><\/script>/, "")).not.toMatch(
        /<style|<script| style=| on\w+=/,
      );
    },
  );

  it("does not exist without a password or accounts", async () => {
    await operator.world.restart({ environment: { OPERATOR_PASSWORD: "" } });
    expect((await operator.get()).status).toBe(404);
    await operator.world.restart();
    expect((await operator.get()).status).toBe(200);
  });
});

describe("an error page of /operator", () => {
  const places = ["Overview", "Resources", "Events", "Ledgers", "Check-up", "Audit trail", "Runbook"];
  const none = "01234567-89ab-cdef-0123-456789abcdef";

  it.each([
    ["an unknown place", 404, () => operator.get("/nothing")],
    ["an unknown position in the list", 400, () => operator.get("/resources?after=nonsense")],
    ["an unknown state", 400, () => operator.get("/resources?state=boiling")],
    ["an unknown resource", 404, () => operator.get(`/resources/${none}`)],
    ["an unknown resource's action", 404, () => operator.get(`/resources/${none}/refresh`)],
    ["an unknown action", 404, () => operator.get("/actions/999")],
    ["what is no uuid", 400, () => operator.get("/resources/teapot")],
    ["a form without its token", 403, () => operator.post("/refresh-all", [])],
    ["a form of another site", 403, () => operator.post("/reseal", [], { "sec-fetch-site": "cross-site" })],
    ["a form that is too long", 400, () => operator.post("/secret", [["secret", "x".repeat(40_000)]])],
    ["what breaks", 500, broken],
  ] as const)("has the same navigation as all others: %s", async (_what, status, ask) => {
    const page = await ask();
    expect(page.status).toBe(status);
    expect(page.html).toMatch(/<html lang="en" class="wide">/);
    expect(page.html).toContain(`<footer>${buildText}</footer>`);
    const [navigation] = /<nav.*<\/nav>/s.exec(page.html)!;
    const links = [...navigation.matchAll(/<a href="[^"]+"[^>]*>([^<]+)</g)].map(([, name]) => name);
    expect(links).toEqual(places);
    // It is not itself one of these pages.
    expect(navigation).not.toContain(`aria-current="page"`);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none';style-src 'self';img/);
  });

  async function broken() {
    await operator.world.rows(`ALTER TABLE operator_actions RENAME TO out_of_the_way`);
    try {
      return await operator.get("/actions");
    } finally {
      await operator.world.rows(`ALTER TABLE out_of_the_way RENAME TO operator_actions`);
    }
  }
});

describe("a form of /operator", () => {
  const path = () => `/resources/${uuid}/refresh`;

  it("is refused from another site, without its form token, with that of another page, or a changed one", async () => {
    const before = await generation();
    const fields = hiddenIn((await operator.get(path())).html);
    for (const where of [{ "sec-fetch-site": "same-site" }, { origin: "https://elsewhere.example" }]) {
      const { status, text } = await operator.post(path(), fields, where);
      expect([status, text]).toEqual([403, expect.stringContaining("Nothing was done")]);
    }
    const [[, token]] = fields as [[string, string]];
    const [[, ofAnother]] = hiddenIn((await operator.get("/refresh-all")).html) as [[string, string]];
    const [at, form, signature] = token.split(".") as [string, string, string];
    const changed = [`${Number(at) + 1}.${form}.${signature}`, `${at}.${form}`, "x".repeat(5_000)];
    for (const wrong of ["", ofAnother, ...changed])
      expect((await operator.post(path(), [["token", wrong]])).status).toBe(403);
    expect((await operator.post(path(), [])).status).toBe(403);
    expect([await operator.audit(), await generation()]).toEqual([[], before]);
  });

  it("is valid for an hour", async () => {
    const ctx = operator.world.service.services;
    const tokenOf = (minutesAgo: number) =>
      tokenFor(ctx, purposeOf(ctx, path(), BY_PASSWORD), Math.floor(Date.now() / 1_000) - minutesAgo * 60);
    const before = await generation();
    expect((await operator.post(path(), [["token", tokenOf(61)]])).status).toBe(403);
    expect((await operator.post(path(), [["token", tokenOf(59)]])).status).toBe(303);
    await eventually(async () => (await generation()) > before);
  });

  it("that is sent twice is carried out once", async () => {
    const before = await generation();
    const fields = hiddenIn((await operator.get(path())).html);
    const both = await Promise.all([operator.post(path(), fields), operator.post(path(), fields)]);
    expect(new Set(both.map(({ status, location }) => `${status} ${location}`)).size).toBe(1);
    expect((await operator.audit()).map(({ action }) => action)).toEqual(["refresh"]);
    await operator.post(path(), fields);
    expect(await operator.audit()).toHaveLength(1);
    await eventually(async () => expect(await generation()).toBe(before + 1));
  });
});

describe("an action of the operator", () => {
  it("has a confirmation page, and does nothing before its button is pressed", async () => {
    const before = await generation();
    const ofOne = ["refresh", "recover", "push"].map((action) => `/resources/${uuid}/${action}`);
    for (const path of [...ofOne, "/refresh-all", "/recover-all", "/secret", "/reseal"])
      expect([path, (await operator.get(path)).status]).toEqual([path, 200]);
    expect(await generation()).toBe(before);
    expect(await operator.audit()).toEqual([]);
  });

  it("refreshes a token, and is in the audit trail, the timeline and the log", async () => {
    const before = await generation();
    expect((await operator.done(`/resources/${uuid}/refresh`)).text).toMatch(/done.*1 refreshed,/);
    expect(await generation()).toBe(before + 1);
    expect(await operator.audit()).toMatchObject([{ action: "refresh", state: "done", uuid }]);
    expect((await operator.get("/actions")).text).toContain("1 refreshed,");
    expect((await operator.get(`/resources/${uuid}`)).text).toContain("operator: refresh done");
    expect(operator.world.logged()).toMatch(/"operatorAction":"refresh".*An operator began an action/);
  });

  it("that fails shows the reason", async () => {
    const before = await generation();
    operator.control.fault("POST /oauth/token", { status: 503 }, 1);
    const { text } = await operator.done(`/resources/${uuid}/refresh`);
    expect(text).toMatch(/failed .*503.*0 refreshed, 1 failed/);
    // The service tries it again, which must not meet the fault of the next test.
    await eventually(async () => (await generation()) > before);
  });

  it("shows that it runs, and is completed when the service stops", async () => {
    closeGate();
    const { location } = await operator.press("/refresh-all");
    const page = await operator.get(location!.replace("/operator", ""));
    expect(page.text).toMatch(/ running /);
    expect(page.headers.get("refresh")).toBe("2");
    await restartDuringRefresh();
    expect((await operator.audit()).at(-1)).toMatchObject({
      ...{ action: "refresh-all", state: "done", message: "1 refreshed, 0 failed, 0 skipped." },
    });
    expect((await operator.get(location!.replace("/operator", ""))).headers.get("refresh")).toBeNull();
  });

  it("that another operator has begun is shown to who presses the same button, and begins nothing more", async () => {
    closeGate();
    const first = await operator.press("/refresh-all");
    const second = await operator.press("/refresh-all");
    expect(second.location).toBe(`${first.location}?already=1`);
    const { text } = await operator.get(second.location!.replace("/operator", ""));
    expect(text).toMatch(/running operator had begun the same action, so your press began nothing more\./);
    expect(await operator.audit()).toHaveLength(1);
    await restartDuringRefresh();
  });

  it("is begun once by those who press the same button at the same moment", async () => {
    closeGate();
    const forms = await Promise.all(Array.from({ length: 6 }, () => operator.get("/refresh-all")));
    const answers = await Promise.all(forms.map(({ html }) => operator.post("/refresh-all", hiddenIn(html))));
    const [path] = answers.map(({ location }) => location).filter((each) => !each!.endsWith("?already=1"));
    const others = answers.filter(({ location }) => location === `${path}?already=1`);
    expect([others.length, await operator.audit()]).toMatchObject([5, [{ action: "refresh-all" }]]);
    await restartDuringRefresh();
  });

  it.each([
    ["after it was written, and not acknowledged", "unheard find_action_of_form", async () => undefined],
    ["before its end was written", "before end_action", lost],
    ["after its end was written, and not acknowledged", "unheard end_action", async () => undefined],
  ])(
    "is carried out once and its end is recorded although the connection was lost %s",
    async (_, at, happens) => {
      const { log } = operator.world.service.services;
      const { moments, parts } = interleavings();
      moments.set(at, happens);
      const runner = createActionRunner({
        db: parts.wrapDatabase(operator.world.db),
        scrub: (text) => text,
        log,
      });
      let times = 0;
      const work = async () => ({ isDone: true, message: `${(times += 1)} done.` });
      const asked = { action: "refresh", uuid: null, operator: BY_PASSWORD, form: at, requestId: at };
      const { id } = await runner.begin(asked, work);
      for (const requestId of ["the second press", at])
        expect(await runner.begin({ ...asked, requestId }, work)).toMatchObject({ id });
      await runner.stop();
      expect([times, moments.size]).toEqual([1, 0]);
      expect(await findAction(operator.world.db, id)).toMatchObject({ state: "done", message: "1 done." });
    },
  );

  it("whose process was killed is marked as such", async () => {
    const [{ id }] = (await operator.world.forged.anActionWasCutOff("reseal")) as [{ id: string }];
    expect((await operator.get(`/actions/${id}`)).text).toMatch(/stopped.*Its process ended/);
  });
});

it("pushing config vars shows what differs without values, and makes them as the service wants them", async () => {
  const { config } = operator.world.service.services.platformFor(uuid);
  const vars = async () => Object.fromEntries((await config.get()).map(({ name, value }) => [name, value]));
  const wanted = await vars();
  await config.update([
    { name: "TEAPOT_TOKEN", value: null },
    { name: "TEAPOT_URL", value: "https://by-hand.example" },
  ]);
  const { text, html } = await operator.get(`/resources/${uuid}/push`);
  expect(text).toContain("TEAPOT_TOKEN missing on the platform TEAPOT_URL differs");
  for (const value of ["by-hand", ...Object.values(wanted)]) expect(html).not.toContain(value);
  const done = await operator.done(`/resources/${uuid}/push`);
  expect(done.text).toContain("Changed: TEAPOT_TOKEN, TEAPOT_URL.");
  expect(await vars()).toEqual(wanted);
});

describe("setting a client secret", () => {
  it("that is none begins no action", async () => {
    const before = await operator.audit();
    for (const typed of ["\r\n", "x".repeat(4_097)]) {
      const { status, text } = await operator.press("/secret", [["secret", typed]]);
      expect([status, text]).toEqual([400, expect.stringContaining("Nothing was changed.")]);
    }
    expect(await operator.audit()).toEqual(before);
  });

  it("refreshes all tokens, and shows the secret on no page and in no log", async () => {
    const before = await generation();
    const { secret } = operator.control.resetClientSecret();
    const { text } = await operator.done("/secret", [["secret", secret]]);
    expect(text).toMatch(/The client secret is version \d now\. 1 of 1 token refreshed\./);
    expect(await generation()).toBeGreaterThan(before);
    expect(operator.shown.join("")).not.toContain(secret);
    expect(operator.world.logged()).not.toContain(secret);
    expect(JSON.stringify(await operator.audit())).not.toContain(secret);
  });

  it("waits for no other one that still runs: it may be another secret", async () => {
    operator.control.fault("POST /oauth/token", { delayMs: 4_000 });
    const { secret } = operator.control.resetClientSecret();
    const press = () => operator.press("/secret", [["secret", secret]]);
    const both = [await press(), await press()];
    expect(both.map(({ location }) => location)).toEqual(
      Array(2).fill(expect.stringMatching(/\/actions\/\d+$/)),
    );
    operator.control.clearFaults();
    for (const { location } of both)
      await eventually(async () =>
        expect((await operator.get(location!.replace("/operator", ""))).text).not.toMatch(/ running /),
      );
  });
});

it("re-encrypts everything with a new key", async () => {
  const old = operator.world.environment["ENCRYPTION_KEY"]!;
  const environment = { ENCRYPTION_KEY: randomBytes(24).toString("hex"), DECRYPTION_KEYS: old };
  await operator.world.restart({ environment });
  const { text } = await operator.done("/reseal");
  expect(text).toMatch(/done.*\d+ rows resealed\. .*An old key can be dropped 12 hours after/);
});
