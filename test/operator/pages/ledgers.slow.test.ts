import { randomUUID } from "node:crypto";
import type { Extensions } from "../../../src/extend/contract.ts";
import { aVendor } from "../../support/a-vendor.ts";
import { kit } from "../../support/kit.ts";
import { eventually, opened, QUICK } from "../../support/world.ts";
import { aWorldOfAnOperator } from "./operator.ts";

// What is known to differ between the ledgers, on a page: what the last comparison found, and what the service noticed.

const backend = new Set<string>();
const recorded = aVendor();
const list: NonNullable<Extensions["list"]> = async function* () {
  yield* backend;
};
const vendor = {
  ...recorded,
  deprovision: async (resource: Parameters<typeof recorded.deprovision>[0]) => {
    backend.delete(resource.uuid);
    return recorded.deprovision(resource);
  },
  list,
};
const parts = { vendor: vendor as never };
const operator = opened(() => aWorldOfAnOperator({ parts }));

afterEach(async () => {
  operator.control.clearFaults();
  backend.clear();
  await operator.world.forged.everythingWasDeprovisioned();
});

interface Report {
  differences: { uuid: string; kind: string; ours: string | null; theirs: string | null; cure: string }[];
  checked: number;
  next: string | null;
}

async function compared(words: string[] = [], lines: string[] = []): Promise<Report> {
  const all = ["reconcile", "--rate", "500", "--json", ...words];
  const { stdout } = await kit(operator.world.environment, all, lines.join("\n"), {
    ...parts,
    pace: { ...QUICK, listMs: 300 },
  });
  return JSON.parse(stdout) as Report;
}
const listed = (lines: string[], ...words: string[]) => compared(["--platform-list", ...words], lines);
const page = () => operator.get("/ledgers");
const inBackend = async (plan?: string) => {
  const uuid = await operator.life.settled(plan);
  backend.add(uuid);
  return uuid;
};

it("ledgers that were never compared: the page says how, and the overview does not speak of them", async () => {
  const { text } = await page();
  expect(text).toContain("Nothing. ");
  expect(text).toContain("None is stored.");
  expect(text).toContain("kit reconcile --platform-list < uuids.txt");
  expect((await operator.get()).html).not.toMatch(/<a href="[^"]*\/ledgers">What differs/);
});

interface Case {
  kind: string;
  button: string;
  question: string;
  /** Makes a difference of it; what comes on standard input, if it takes a list. */
  differ(): Promise<{ uuid: string; lines?: string[] }>;
  mended(uuid: string): unknown;
}
const cases: Case[] = [
  {
    kind: "gone_at_platform",
    button: "End them here and in your backend",
    question: "End it here, and take it down in your backend, for good?",
    async differ() {
      const uuid = await inBackend();
      operator.control.removeWithoutDeprovision(uuid);
      return { uuid };
    },
    mended: async (uuid) =>
      expect(await operator.life.resource(uuid)).toMatchObject({ state: "deprovisioned" }),
  },
  {
    kind: "unknown_here",
    button: "Import them",
    question: "Import it?",
    async differ() {
      const uuid = randomUUID();
      const line = {
        uuid,
        plan: "teapots:premium",
        name: "old-teapot",
        app: { id: randomUUID(), name: "shop" },
      };
      return { uuid, lines: [await inBackend(), JSON.stringify(line)] };
    },
    mended: async (uuid) => expect(await operator.life.resource(uuid)).toMatchObject({ plan: "premium" }),
  },
  {
    kind: "orphan_at_backend",
    button: "Take them down in your backend",
    question: "Take it down in your backend, for good?",
    async differ() {
      const uuid = randomUUID();
      const lines = [await inBackend()];
      backend.add(uuid);
      return { uuid, lines };
    },
    mended: (uuid) => eventually(() => expect(backend.has(uuid)).toBe(false)),
  },
  {
    kind: "missing_at_backend",
    button: "Make them again in your backend",
    question: "Make it again?",
    differ: async () => ({ uuid: await operator.life.settled() }),
    mended: (uuid) => eventually(() => expect(recorded.callsOf(uuid, "changePlan")).toHaveLength(1)),
  },
  {
    kind: "plan_differs",
    button: "Change them to the platform's plan",
    question: "Change it to the platform",
    async differ() {
      const uuid = await inBackend();
      await operator.world.forged.planIs("premium", uuid);
      return { uuid };
    },
    mended: (uuid) => operator.life.resourceBecomes(uuid, { plan: "basic" }),
  },
  {
    kind: "config_differs",
    button: "Make their config vars alike",
    question: "Set them in the app as they are wanted here?",
    async differ() {
      const uuid = await inBackend();
      const data = `{"config":[{"name":"TEAPOT_URL","value":"https://by.hand"}]}`;
      const words = ["api", "PATCH", `/addons/${uuid}/config`, "--resource", uuid, "--data", data];
      await kit(operator.world.environment, words);
      return { uuid };
    },
    mended: (uuid) => expect(operator.life.varsAt(uuid)["TEAPOT_URL"]).toContain("basic.teapots.example"),
  },
  {
    kind: "app_differs",
    button: "Store what the platform says",
    question: "Store what the platform says?",
    async differ() {
      const uuid = await inBackend();
      operator.control.renameApp(operator.control.addon(uuid).app.name, `shop-${uuid.slice(0, 6)}`);
      return { uuid };
    },
    mended: async (uuid) =>
      expect(
        await operator.world.rows(`SELECT app_name AS name FROM resources WHERE uuid = $1`, [uuid]),
      ).toEqual([{ name: `shop-${uuid.slice(0, 6)}` }]),
  },
];

it.each(cases)(
  "$kind is shown as kit reconcile --json has it, and its button asks with the number and cures it",
  async ({ kind, button, question, differ, mended }) => {
    const { uuid, lines } = await differ();
    const { differences } = await (lines ? listed(lines) : compared());
    expect(differences).toMatchObject([{ uuid, kind }]);
    const [{ ours, theirs, cure }] = differences as [Report["differences"][0]];
    const shown = await page();
    expect(shown.text).toContain("1 in all.");
    expect(shown.text).toContain(`${kind}: 1`);
    for (const part of [uuid, ours, theirs, cure]) if (part !== null) expect(shown.text).toContain(part);
    expect(shown.html).toContain(button);
    const overview = await operator.get();
    expect(overview.html).toMatch(/<a href="\/operator\/ledgers">What differs/);
    expect(overview.text).toContain(`${kind} 1`);

    const asked = await operator.get(`/ledgers/fix-${kind}`);
    expect(asked.text).toContain("1 resource :");
    expect(asked.text).toContain(question);
    const done = await operator.done(`/ledgers/fix-${kind}`);
    expect(done.text).toContain("1 dealt with, 0 failed, 0 skipped.");
    await mended(uuid);
    expect((await page()).text).toContain("Nothing. ");
    expect((await operator.audit()).at(-1)).toMatchObject({ action: `fix-${kind}`, state: "done" });
    expect((await operator.get(`/ledgers/fix-${kind}`)).html).not.toContain(
      `<button type="submit">${button}`,
    );
  },
);

it("what has no button says what to do, and what cannot be cured for want of a list has none", async () => {
  const [refused, orphan] = [await inBackend(), randomUUID()];
  for (const token of ["access", "refresh"] as const) operator.control.revoke(refused, token);
  backend.add(orphan);
  await compared();
  const { text } = await page();
  expect(text).toContain("tokens_refused: 1");
  expect(text).toContain("orphan_at_backend: 1");
  const asked = await operator.get("/ledgers/fix-orphan_at_backend");
  expect(asked.text).toContain("None of 1 can be taken down");
  expect(asked.html).not.toContain(`<button type="submit">Take them`);
  expect((await operator.get("/ledgers/fix-tokens_refused")).status).toBe(404);
});

it("what the service noticed by itself is there without a comparison", async () => {
  const uuid = randomUUID();
  await operator.life.platform.changePlan(uuid, { plan: "premium" });
  const { text } = await page();
  expect(text).toContain("unknown_here: 1");
  expect(text).toContain(uuid);
  expect(text).toContain("asked for plan premium");
});

it("another plan that the daily look noticed is there once, compared or not, and goes when it is cured", async () => {
  const { rows } = operator.world;
  const onOther = async () => {
    const uuid = await inBackend();
    await rows(
      `UPDATE resources SET plan = 'premium', updated_at = now() - interval '1 hour' WHERE uuid = $1`,
      [uuid],
    );
    return uuid;
  };
  /** What the page says, and the check-up's parts: noticed by the service, and found by the comparison alone. */
  const numbers = async () => {
    const { text } = await page();
    const { stdout } = await kit(operator.world.environment, ["doctor"], "", parts);
    const overview = (await operator.get()).text;
    const told = [/has (\d) resources? on another plan/, /noticed by itself: plan_differs (\d)/].map(
      (pattern) => {
        const number = Number(pattern.exec(stdout)?.[1] ?? 0);
        expect(Number(pattern.exec(overview)?.[1] ?? 0)).toBe(number);
        return number;
      },
    );
    return { page: Number(/plan_differs: (\d)/.exec(text)?.[1] ?? 0), told };
  };
  const noticed = await onOther();
  await rows(`UPDATE resources SET looked_at = now() - interval '25 hours' WHERE uuid = $1`, [noticed]);
  await eventually(async () =>
    expect(await rows(`SELECT uuid FROM ledger_marks`)).toEqual([{ uuid: noticed }]),
  );
  expect(await numbers()).toEqual({ page: 1, told: [1, 0] });
  expect((await page()).text).toMatch(/premium basic/);
  await compared();
  expect(await numbers()).toEqual({ page: 1, told: [1, 0] });
  const found = await onOther();
  await compared();
  expect(await numbers()).toEqual({ page: 2, told: [1, 1] });

  const done = await operator.done("/ledgers/fix-plan_differs");
  expect(done.text).toContain("2 dealt with, 0 failed, 0 skipped.");
  for (const uuid of [noticed, found]) await operator.life.resourceBecomes(uuid, { plan: "basic" });
  expect(await numbers()).toEqual({ page: 0, told: [0, 0] });
});

it("another plan that only the daily look noticed has a button, too, but not while the plan is changed", async () => {
  const uuid = await inBackend();
  const { rows } = operator.world;
  await rows(`UPDATE resources SET plan = 'premium' WHERE uuid = $1`, [uuid]);
  const isNoticed = () =>
    rows(
      `INSERT INTO ledger_marks (uuid, kind, detail) VALUES ($1, 'plan_differs', '{"plan": "basic"}') ON CONFLICT DO NOTHING`,
      [uuid],
    );
  await isNoticed();
  await rows(
    `INSERT INTO steps (uuid, kind, detail, due_at) VALUES ($1, 'change_plan', '{"plan": "basic"}', now() + interval '1 hour')`,
    [uuid],
  );
  expect((await page()).text).toContain("Nothing. ");
  await rows(`DELETE FROM steps`);
  // While the plan was changed, the job that forgets what is no longer so may have begun.
  await eventually(async () => {
    await isNoticed();
    expect((await page()).text).not.toContain("Nothing. ");
  });
  expect((await operator.done("/ledgers/fix-plan_differs")).text).toContain(
    "1 dealt with, 0 failed, 0 skipped.",
  );
  await operator.life.resourceBecomes(uuid, { plan: "basic" });
  expect((await page()).text).toContain("Nothing. ");
});

it("the next comparison replaces what the last one found, and what is older keeps its time", async () => {
  const [lost, back] = [await inBackend(), await inBackend()];
  for (const uuid of [lost, back]) operator.control.fault(`GET /addons/${uuid}`, { status: 404 }, 1_000);
  await compared();
  await operator.world.forged.findingsAreFrom(3 * 24);
  operator.control.clearFaults();
  operator.control.fault(`GET /addons/${lost}`, { status: 404 }, 1_000);
  await compared();
  const { text } = await page();
  expect(text).toContain("gone_at_platform: 1");
  expect(text).toContain("(3 days ago)");
  expect([text.includes(lost), text.includes(back)]).toEqual([true, false]);
  expect(await operator.world.rows(`SELECT count(*)::int AS count FROM ledger_comparisons`)).toEqual([
    { count: 1 },
  ]);
});

it("a comparison that was stopped shows how far it came, beside the last whole one, and goes on as one", async () => {
  const uuids: string[] = [];
  for (const uuid of await operator.world.installed(30)) {
    backend.add(uuid);
    uuids.push(uuid);
  }
  operator.control.removeWithoutDeprovision(uuids[0]!);
  await compared();
  operator.control.removeWithoutDeprovision(uuids[29]!);
  for (const uuid of uuids.slice(10)) operator.control.fault(`GET /addons/${uuid}*`, { status: 503 }, 1_000);
  const first = await compared();
  expect(first).toMatchObject({ next: uuids[7], differences: [{ uuid: uuids[0] }] });
  const stopped = await page();
  expect(stopped.text).toContain("Of ours, 8 of 30 compared; 1 difference found so far.");
  expect(stopped.text).toContain(`kit reconcile --after ${uuids[7]}`);
  expect(stopped.text).toContain("Of ours, 30 compared; 1 difference found.");
  expect(stopped.text).toContain("gone_at_platform: 1");
  operator.control.clearFaults();
  const second = await compared(["--after", first.next!]);
  expect(second.differences.map(({ uuid }) => uuid)).toEqual([uuids[0], uuids[29]]);
  const whole = await page();
  expect(whole.text).toContain("Of ours, 30 compared; 2 differences found.");
  expect(whole.text).toContain("gone_at_platform: 2");
  expect(whole.text).not.toContain("To continue");
});

it("a button ends no more than it asked about, and never most of all", async () => {
  const [one] = [await inBackend(), await inBackend()];
  operator.control.removeWithoutDeprovision(one);
  await compared();
  const { html } = await operator.get("/ledgers/fix-gone_at_platform");
  const token = /name="token" value="([^"]+)"/.exec(html)![1]!;
  for (const count of ["0", "x"]) {
    const answer = await operator.post("/ledgers/fix-gone_at_platform", [
      ["token", token],
      ["count", count],
    ]);
    if (count === "x") expect(answer.status).toBe(400);
    else
      await eventually(async () =>
        expect((await operator.get(answer.location!.replace("/operator", ""))).text).toContain(
          "you were asked about 0",
        ),
      );
  }
  const uuids = await operator.world.installed(22);
  operator.control.fault("* /addons/*", { status: 404 }, 100_000);
  await compared();
  const refused = await operator.done("/ledgers/fix-gone_at_platform");
  expect(refused.text).toContain("Nothing was changed: 24 of 24 would be ended.");
  expect(
    await operator.world.rows(`SELECT DISTINCT state FROM resources WHERE uuid = ANY($1)`, [uuids]),
  ).toEqual([{ state: "provisioned" }]);
  expect((await operator.post("/ledgers/fix-gone_at_platform", [["count", "24"]])).status).toBe(403);
});

it("a plan that the platform has changed since the comparison is not made", async () => {
  const uuid = await inBackend();
  await operator.world.forged.planIs("dedicated", uuid);
  await compared();
  await operator.control.changePlan(uuid, "premium").catch(() => undefined);
  await operator.world.forged.planIs("dedicated", uuid);
  await operator.world.forged.nothingIsLeftOf("steps");
  const { text } = await operator.done("/ledgers/fix-plan_differs");
  expect(text).toContain("skipped: changed_since");
});

it("an erased resource leaves nothing in what was found", async () => {
  const uuid = await inBackend();
  operator.control.removeWithoutDeprovision(uuid);
  await compared();
  await kit(operator.world.environment, ["resources", "erase", uuid, "--yes"]);
  expect(await operator.world.rows(`SELECT * FROM ledger_findings`)).toEqual([]);
});
