import { randomUUID } from "node:crypto";
import { aWorldOfAnOperator } from "../operator/pages/operator.ts";
import { kit, kitJson } from "../support/kit.ts";
import { partnerCalls } from "../support/partner-calls.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

// An add-on of ours that the platform no longer has, and one of the platform's that we do not have, are noticed as it happens.

const operator = opened(() => aWorldOfAnOperator());
const { rows, lines, settled, call } = {
  rows: <Row>(text: string, values?: unknown[]) => operator.world.rows<Row>(text, values),
  lines: (...texts: string[]) => operator.world.lines(...texts),
  settled: () => operator.life.settled(),
  call: (path: string, uuid: string) =>
    kitJson(operator.world.environment, ["api", "GET", path, "--resource", uuid]),
};

afterEach(async () => {
  operator.control.clearFaults();
  await operator.world.forged.nothingIsLeftOf("ledger_marks");
});

const alarms = (alarm: string, uuid: string) =>
  lines(`"alarm":"${alarm}"`, uuid).map((line) => JSON.parse(line) as object);
const flags = async (uuid: string) =>
  (
    await kitJson<{ credential: { flags: string[] } }>(operator.world.environment, [
      "resources",
      "show",
      uuid,
    ])
  ).data.credential.flags;
const isMarked = (uuid: string) =>
  eventually(async () => expect(await operator.life.events(uuid)).toContain("gone_at_platform"));
const lookAgain = (uuid: string) => operator.world.forged.lookedAtHoursAgo(uuid);

describe("an add-on that is gone at the platform", () => {
  const NOT_FOUND = { status: 404 };
  it.each<[string, (uuid: string) => unknown]>([
    [
      "by a call about it",
      (uuid) => {
        operator.control.removeWithoutDeprovision(uuid);
        return call(`/addons/${uuid}`, uuid);
      },
    ],
    [
      "by a call about a part of it, answered 410",
      (uuid) => {
        operator.control.fault(`* /addons/${uuid}*`, { status: 410 }, 100);
        return call(`/addons/${uuid}/config`, uuid);
      },
    ],
    [
      "by the daily look",
      (uuid) => {
        operator.control.removeWithoutDeprovision(uuid);
        return lookAgain(uuid);
      },
    ],
    [
      "by a refresh that is refused",
      (uuid) => {
        operator.control.removeWithoutDeprovision(uuid);
        return operator.world.forged.tokensFellDue(uuid);
      },
    ],
  ])(
    "is noticed %s: an event, a flag and an alarm; its state stays, and its refreshes pause",
    async (_what, happens) => {
      const uuid = await settled();
      await happens(uuid);
      await isMarked(uuid);
      await eventually(() => expect(alarms("gone_at_platform", uuid)).toMatchObject([{ uuid, count: 1 }]));
      expect(await flags(uuid)).toEqual(["gone_at_platform"]);
      const listed = await kitJson<{ resources: { uuid: string; credential: { flags: string[] } }[] }>(
        operator.world.environment,
        ["resources", "list", "--search", uuid],
      );
      expect(listed.data.resources).toMatchObject([{ uuid, credential: { flags: ["gone_at_platform"] } }]);
      const [row] = await rows<object>(
        `SELECT r.state, c.state AS credential, c.due_at > now() + interval '20 hours' AS "isPaused"
       FROM resources r JOIN credentials c USING (uuid) WHERE uuid = $1`,
        [uuid],
      );
      expect(row).toEqual({ state: "provisioned", credential: "active", isPaused: true });
    },
  );

  it("is in the check-up and on the overview, with what to do", async () => {
    const uuid = await settled();
    operator.control.removeWithoutDeprovision(uuid);
    await lookAgain(uuid);
    await isMarked(uuid);
    const { stdout } = await kit(operator.world.environment, ["doctor"]);
    expect(stdout).toContain("1 resource gone at the platform");
    expect(stdout).toContain("kit reconcile --fix gone_at_platform");
    expect((await operator.get()).text).toContain("1 resource gone at the platform");
    expect((await operator.get(`/resources/${uuid}`)).text).toContain("Is it really gone?");
  });

  it("is looked for again, and is as before once the platform has it: its tokens are refreshed", async () => {
    const uuid = await settled();
    operator.control.fault(`* /addons/${uuid}*`, NOT_FOUND, 1_000);
    await lookAgain(uuid);
    await isMarked(uuid);
    operator.control.clearFaults();
    // Its access token has expired: the look refreshes it.
    await operator.world.forged.tokensExpired(uuid);
    await operator.world.forged.marksAreFrom(uuid, 2);
    await eventually(async () => expect(await operator.life.events(uuid)).toContain("back_at_platform"));
    expect(await flags(uuid)).toEqual([]);
    await operator.world.quiet([uuid]);
    const [{ soon }] = (await rows<{ soon: boolean }>(
      `SELECT due_at < now() + interval '5 hours' AS soon FROM credentials WHERE uuid = $1`,
      [uuid],
    )) as [{ soon: boolean }];
    expect(soon).toBe(true);
  });

  it.each<[string, string, object]>([
    ["a part of it alone is not there", "GET /addons/*/log-drains", NOT_FOUND],
    [
      "the page of another server answers",
      "* /addons/*",
      { status: 404, body: "<html>Not found</html>", headers: { "content-type": "text/html" } },
    ],
    ["access to it is denied", "* /addons/*", { status: 403 }],
    ["the platform fails", "* /addons/*", { status: 503 }],
    ["the answer was a mistake of a moment", "GET /addons/*", NOT_FOUND],
  ])("is not what it is taken for when %s", async (_what, match, action) => {
    const uuid = await settled();
    // A mistake that a second look meets, too.
    const times = match === "* /addons/*" ? 1_000 : 2;
    operator.control.fault(
      match.replace("/addons/*", `/addons/${uuid}${match.startsWith("*") ? "*" : ""}`),
      action,
      times,
    );
    await call(match.includes("log-drains") ? `/addons/${uuid}/log-drains` : `/addons/${uuid}`, uuid);
    if (times > 2) operator.control.clearFaults();
    await operator.life.nothingLeft(uuid);
    expect(await operator.life.events(uuid)).not.toContain("gone_at_platform");
  });

  it("is one of many in a wave: one alarm, no resource given up", async () => {
    await operator.world.restart({ parts: { pace: { ...QUICK, gatherMs: 15_000 } } });
    const uuids = await operator.world.installed(25);
    operator.control.fault("* /addons/*", NOT_FOUND, 10_000);
    await operator.world.forged.lookedAtHoursAgo(uuids);
    const marks = `SELECT alarmed_at FROM ledger_marks WHERE uuid = ANY($1) AND alarmed_at IS NOT NULL`;
    const alarmed = lines(`"alarm":"gone_at_platform"`).length;
    await eventually(async () => expect(await rows(marks, [uuids])).not.toEqual([]));
    await eventually(async () =>
      expect(await rows(`SELECT uuid FROM ledger_marks WHERE uuid = ANY($1)`, [uuids])).toHaveLength(25),
    );
    // What still comes of a wave of ten or more waits for an hour.
    await eventually(
      async () =>
        (
          await rows<{ n: number }>(
            `SELECT count(*)::int AS n FROM ledger_marks WHERE alarmed_at IS NOT NULL`,
          )
        )[0]!.n >= 10,
    );
    await eventually(() => lines(`"alarm":"gone_at_platform"`).length > alarmed);
    expect(lines(`"alarm":"gone_at_platform"`)).toHaveLength(alarmed + 1);
    const states = await rows<{ state: string }>(
      `SELECT DISTINCT state FROM resources WHERE uuid = ANY($1)`,
      [uuids],
    );
    expect(states).toEqual([{ state: "provisioned" }]);
  });
});

describe("an add-on that the platform has on another plan", () => {
  const onOther = async (quietMinutes: number) => {
    const uuid = await settled();
    await operator.world.forged.planIs("premium", uuid);
    await operator.world.forged.resourceIsQuietFor(uuid, quietMinutes * 60);
    await lookAgain(uuid);
    return uuid;
  };
  const hasLooked = (uuid: string) =>
    eventually(async () => expect(await rows(`SELECT uuid FROM resources WHERE uuid = $1 AND looked_at > now() - interval '3 hours'`, [uuid])).toHaveLength(1)); // prettier-ignore

  it("is noticed by the daily look, is in the check-up, and ends with the difference; it raises no alarm", async () => {
    const uuid = await onOther(60);
    await eventually(async () => expect(await rows(`SELECT kind, detail FROM ledger_marks WHERE uuid = $1`, [uuid])).toEqual([{ kind: "plan_differs", detail: { plan: "basic" } }])); // prettier-ignore
    const { stdout } = await kit(operator.world.environment, ["doctor"]);
    expect(stdout).toContain("The platform has 1 resource on another plan");
    expect(stdout).toContain("kit reconcile --fix plan_differs");
    expect((await operator.get()).text).toContain("1 resource on another plan");
    expect(lines('"alarm":"plan_differs"')).toEqual([]);
    await operator.world.forged.planIs("basic", uuid);
    expect((await kit(operator.world.environment, ["doctor"])).stdout).not.toContain("on another plan");
    await eventually(async () => expect(await rows(`SELECT uuid FROM ledger_marks`)).toEqual([]));
  });

  it("is none while its plan has just changed", async () => {
    const uuid = await onOther(1);
    await hasLooked(uuid);
    await lookAgain(uuid);
    await hasLooked(uuid);
    expect(await rows(`SELECT uuid FROM ledger_marks`)).toEqual([]);
  });

  it("is looked for again within hours, if its token has expired and is about to be refreshed", async () => {
    const uuid = await settled();
    await operator.world.forged.tokensAreDueIn(uuid, 60);
    await operator.world.forged.tokensExpired(uuid);
    await lookAgain(uuid);
    const ago = async () => (await rows<{ hours: number }>(`SELECT extract(epoch FROM now() - looked_at)::float8 / 3600 AS hours FROM resources WHERE uuid = $1`, [uuid]))[0]!.hours; // prettier-ignore
    await eventually(async () => expect(Math.round(await ago())).toBe(21));
  });
});

describe("a plan change or a deprovision of a resource that was never provisioned here", () => {
  it.each([
    ["PUT", "a customer may pay"],
    ["DELETE", "kit resources show"],
  ])(
    "%s is answered 404, and is an alarm with its uuid, counted, and listed until it is dealt with",
    async (method) => {
      const { deprovision, changePlan } = partnerCalls(operator.world);
      const uuid = randomUUID();
      const ask = () => (method === "PUT" ? changePlan(uuid, { plan: "premium" }) : deprovision(uuid));
      expect([(await ask()).status, (await ask()).status]).toEqual([404, 404]);
      await eventually(() =>
        expect(alarms("unknown_resource", uuid)).toMatchObject([{ uuid, count: 1, request: method }]),
      );
      expect(await rows(`SELECT times FROM ledger_marks WHERE uuid = $1`, [uuid])).toEqual([{ times: 2 }]);
      const { stdout } = await kit(operator.world.environment, ["doctor"]);
      expect(stdout).toContain(`never provisioned here`);
      expect(stdout).toContain(uuid);
      expect((await kitJson(operator.world.environment, ["resources", "erase", uuid, "--yes"])).code).toBe(0);
      expect((await kit(operator.world.environment, ["doctor"])).stdout).not.toContain(uuid);
    },
  );

  it("ends when it is imported", async () => {
    const uuid = randomUUID();
    await partnerCalls(operator.world).changePlan(uuid, { plan: "premium" });
    await eventually(() => expect(alarms("unknown_resource", uuid)).toHaveLength(1));
    await kitJson(
      operator.world.environment,
      ["resources", "import"],
      JSON.stringify({ uuid, plan: "basic" }),
    );
    expect((await kit(operator.world.environment, ["doctor"])).stdout).not.toContain(
      "never provisioned here",
    );
  });

  it("is no news of one that has ended here, nor of what is no uuid", async () => {
    const uuid = await settled();
    await operator.control.deprovision(uuid);
    const { deprovision } = partnerCalls(operator.world);
    expect((await deprovision(uuid)).status).toBe(410);
    expect((await deprovision("no-uuid")).status).toBe(404);
    expect(await rows(`SELECT uuid FROM ledger_marks`)).toEqual([]);
  });
});
