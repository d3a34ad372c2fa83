import { randomBytes } from "node:crypto";
import type { Queryable } from "../../../src/database/database.ts";
import { createActionRunner } from "../../../src/operator/pages/actions.tsx";
import { BY_PASSWORD, findAction } from "../../../src/operator/store.ts";
import { eventually, opened } from "../../support/world.ts";
import { aWorldOfAnOperator } from "./operator.ts";

let uuid: string;
const operator = opened(() =>
  aWorldOfAnOperator({
    environment: { LEGACY_GRANTS: "on" },
    sandbox: { legacyGrants: true },
  }),
);
beforeAll(async () => {
  uuid = await operator.life.settled();
});
afterEach(() => operator.control.clearFaults());

const generation = async () => (await operator.life.credential(uuid))!.generation;

/** A database that loses a connection once: before it executes the statement of this name, or after. */
function losingTheConnection(at: "before" | "after", name: string): Queryable {
  let isLost = false;
  return {
    async query(statement, values) {
      const isHere = statement.name === name && !isLost;
      isLost ||= isHere;
      const rows = isHere && at === "before" ? [] : await operator.world.db.query(statement, values);
      if (isHere) throw new Error("Connection terminated unexpectedly");
      return rows as never;
    },
  };
}

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
    operator.control.fault("POST /oauth/token", { status: 503 }, 1);
    const { text } = await operator.done(`/resources/${uuid}/refresh`);
    expect(text).toMatch(/failed .*503.*0 refreshed, 1 failed/);
  });

  it("shows its progress while it runs", async () => {
    operator.control.fault("POST /oauth/token", { delayMs: 4_000 }, 1);
    const { location } = await operator.press("/refresh-all");
    const page = await operator.get(location!.replace("/operator", ""));
    expect(page.text).toMatch(/ running /);
    expect(page.html).toContain(`data-live="1000"`);
    await eventually(async () => {
      const { html } = await operator.get(location!.replace("/operator", ""));
      expect(html).toMatch(/done|1 of 1|<progress value="0" max="1"/);
      expect(html).not.toContain("running");
      return true;
    });
  });

  it("that runs when the service stops is completed, or marked as stopped", async () => {
    operator.control.fault("POST /oauth/token", { delayMs: 3_000 }, 1);
    await operator.press("/refresh-all");
    expect((await operator.audit()).at(-1)).toMatchObject({ state: "running" });
    await operator.world.restart();
    expect((await operator.audit()).at(-1)).toMatchObject({
      ...{ action: "refresh-all", state: "done", message: "1 refreshed, 0 failed, 0 skipped." },
    });
  });

  it.each([
    ["after", "begin_operator_action"],
    ["before", "note_operator_action"],
  ] as const)(
    "is carried out once and its end is recorded although the connection was lost %s %s",
    async (at, name) => {
      const { log } = operator.world.service.services;
      const runner = createActionRunner({ db: losingTheConnection(at, name), scrub: (text) => text, log });
      let times = 0;
      const work = async () => ({ isDone: true, message: `${(times += 1)} done.` });
      const asked = { action: "refresh", uuid: null, operator: BY_PASSWORD, form: name, requestId: name };
      const id = await runner.begin(asked, work);
      expect(await runner.begin({ ...asked, requestId: "the second press" }, work)).toBe(id);
      await runner.stop();
      expect(times).toBe(1);
      expect(await findAction(operator.world.db, id)).toMatchObject({ state: "done", message: "1 done." });
    },
  );

  it("whose process was killed is marked as such", async () => {
    await operator.world.rows(
      `INSERT INTO operator_actions (action, form, seen_at) VALUES ('reseal', 'lost', now() - interval '1 hour')`,
    );
    const { html } = await operator.get("/actions");
    const [, id] = /\/operator\/actions\/(\d+)"/.exec(html)!;
    expect((await operator.get(`/actions/${id}`)).text).toMatch(/stopped.*Its process ended/);
  });
});

it("pushing config vars makes them as the service wants them", async () => {
  const { config } = operator.world.service.services.platformFor(uuid);
  const vars = async () => Object.fromEntries((await config.get()).map(({ name, value }) => [name, value]));
  const wanted = await vars();
  await config.update([
    { name: "TEAPOT_TOKEN", value: null },
    { name: "TEAPOT_URL", value: "https://by-hand.example" },
  ]);
  const { text } = await operator.done(`/resources/${uuid}/push`);
  expect(text).toContain("Changed: TEAPOT_TOKEN, TEAPOT_URL.");
  expect(await vars()).toEqual(wanted);
});

describe("setting a client secret", () => {
  it("changes nothing when the platform rejects the secret", async () => {
    const { text } = await operator.done("/secret", [["secret", "wrong-but-well-formed"]]);
    expect(text).toMatch(/failed.*Nothing was changed: the one before is still in use/);
  });

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
    expect(text).toMatch(/The client secret is version \d now\. 1 of 1 tokens refreshed\./);
    expect(await generation()).toBeGreaterThan(before);
    expect(operator.shown.join("")).not.toContain(secret);
    expect(operator.world.logged()).not.toContain(secret);
    expect(JSON.stringify(await operator.audit())).not.toContain(secret);
  });
});

it("re-encrypts everything with a new key", async () => {
  const old = operator.world.environment["ENCRYPTION_KEY"]!;
  const environment = { ENCRYPTION_KEY: randomBytes(24).toString("hex"), DECRYPTION_KEYS: old };
  await operator.world.restart({ environment });
  const { text } = await operator.done("/reseal");
  expect(text).toMatch(/done.*\d+ rows resealed\. .*An old key can be dropped 12 hours after/);
});
