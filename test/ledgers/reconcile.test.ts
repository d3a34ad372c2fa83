import { randomUUID } from "node:crypto";
import type { Extensions } from "../../src/extend/contract.ts";
import { aVendor } from "../support/a-vendor.ts";
import { kit } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

// Three ledgers: the platform's, ours, and that of the vendor's backend.

interface Report {
  checked: number;
  differences: { uuid: string; kind: string; ours: string | null; theirs: string | null; cure: string }[];
  fixed: number;
  isWhole: boolean;
  next: string | null;
  notes: string[];
  faults: string[];
  skipped?: { uuid: string; reason: string }[];
}

const backend = new Set<string>();
type List = NonNullable<Extensions["list"]>;

const asItIs: List = async function* () {
  yield* backend;
};
let list: List | undefined;
const recorded = aVendor();
const vendor = {
  ...recorded,
  deprovision: async (resource: Parameters<typeof recorded.deprovision>[0]) => {
    backend.delete(resource.uuid);
    return recorded.deprovision(resource);
  },
  get list() {
    return list;
  },
};
const life = opened(() => aLifecycle({ parts: { vendor: vendor as never } }));
const parts = { vendor: vendor as never, pace: { ...QUICK, listMs: 300 } };

beforeEach(() => {
  list = undefined;
  backend.clear();
});
afterEach(async () => {
  life.control.clearFaults();
  // What a test leaves is not there for the next one.
  await life.world.forged.everythingWasDeprovisioned();
});

async function reconcile(words: string[] = [], input = "") {
  const { code, stdout, stderr } = await kit(
    life.world.environment,
    ["reconcile", "--rate", "500", "--json", ...words],
    input,
    parts,
  );
  expect(stderr).toBe("");
  return { code, ...(JSON.parse(stdout) as Report) };
}
const listed = (lines: string[], ...words: string[]) =>
  reconcile(["--platform-list", ...words], lines.join("\n"));
const say = (words: string[], input = "") =>
  kit(life.world.environment, ["reconcile", "--rate", "500", ...words], input, parts);
const differs = (uuid: string, kind: string, ours: unknown, theirs: unknown) =>
  expect.objectContaining({ uuid, kind, ours, theirs }) as object;
const containing = (text: string) => expect.stringContaining(text) as unknown;
const isTakenDown = (uuid: string) =>
  eventually(() => expect(recorded.callsOf(uuid, "deprovision")).toHaveLength(1));

it("ledgers that agree do not differ: exit code 0, and nothing was changed", async () => {
  const uuids = [await life.settled(), await life.settled("premium")];
  list = asItIs;
  for (const uuid of uuids) backend.add(uuid);
  const before = await life.world.rows(`SELECT * FROM resources ORDER BY uuid`);
  expect(await listed(uuids)).toMatchObject({
    code: 0,
    checked: 2,
    differences: [],
    fixed: 0,
    isWhole: true,
    next: null,
  });
  expect(await life.world.rows(`SELECT * FROM resources ORDER BY uuid`)).toEqual(before);
  const { stdout } = await say([]);
  expect(stdout).toBe("2 resources of ours compared, 0 differences.\n");
});

interface Case {
  what: string;
  kind: string;
  differ(uuid: string): unknown;
  shows: [ours: unknown, theirs: unknown];
  cure: string;
  /** What --fix brings about. */
  mends?(uuid: string): unknown;
}
const cases: Case[] = [
  {
    what: "an add-on that the platform lost",
    kind: "gone_at_platform",
    differ: (uuid) => life.control.removeWithoutDeprovision(uuid),
    shows: ["provisioned", "404"],
    cure: "kit resources erase UUID",
    async mends(uuid) {
      expect(await life.resource(uuid)).toMatchObject({ state: "deprovisioned" });
      await isTakenDown(uuid);
    },
  },
  {
    what: "another plan",
    kind: "plan_differs",
    differ: (uuid) => life.world.forged.planIs("premium", uuid),
    shows: ["premium", "basic"],
    cure: "kit reconcile --fix plan_differs",
    mends: (uuid) => life.resourceBecomes(uuid, { plan: "basic" }),
  },
  {
    what: "a config var that was changed in the app",
    kind: "config_differs",
    differ: async (uuid) => {
      const words = ["api", "PATCH", `/addons/${uuid}/config`, "--resource", uuid];
      await kit(life.world.environment, [
        ...words,
        "--data",
        `{"config":[{"name":"TEAPOT_URL","value":"https://by.hand"}]}`,
      ]);
    },
    shows: [
      expect.stringMatching(/^TEAPOT_URL=[0-9a-f]{8}$/),
      expect.stringMatching(/^TEAPOT_URL=[0-9a-f]{8}$/),
    ],
    cure: "kit config push UUID",
    mends: (uuid) => expect(life.varsAt(uuid)["TEAPOT_URL"]).toContain("basic.teapots.example"),
  },
  {
    what: "an app that was renamed, and an attachment",
    kind: "app_differs",
    differ(uuid) {
      life.control.renameApp(life.control.addon(uuid).app.name, `shop-${uuid.slice(0, 6)}`);
      life.control.attach(uuid, { app: life.control.createApp({}).name });
    },
    shows: [containing(", 1 attachment"), expect.stringMatching(/^shop-.*, 2 attachments$/)],
    cure: "kit apps UUID",
    mends: async (uuid) =>
      expect(await life.world.rows(`SELECT app_name AS name FROM resources WHERE uuid = $1`, [uuid])).toEqual(
        [{ name: `shop-${uuid.slice(0, 6)}` }],
      ),
  },
  {
    what: "tokens that were revoked",
    kind: "tokens_refused",
    differ(uuid) {
      for (const token of ["access", "refresh"] as const) life.control.revoke(uuid, token);
    },
    shows: ["provisioned", containing("refreshed")],
    cure: "--platform-list",
  },
];

describe.each(cases)("$what", ({ kind, differ, shows, cure, mends }) => {
  it(`is ${kind}, with its cure${mends ? ", which --fix carries out" : ""}`, async () => {
    const [uuid, other] = [await life.settled(), await life.settled()];
    await differ(uuid);
    const found = await reconcile();
    expect(found).toMatchObject({ code: 1, checked: 2, differences: [differs(uuid, kind, ...shows)] });
    expect(found.differences[0]!.cure).toContain(cure.replace("UUID", uuid));
    if (!mends) {
      expect(await reconcile(["--fix", kind, "--yes"])).toMatchObject({
        code: 2,
        message: containing("cannot be fixed"),
      });
      return;
    }
    expect(await reconcile(["--fix", kind, "--yes"])).toMatchObject({ code: 0, fixed: 1, differences: [] });
    await mends(uuid);
    expect(recorded.callsOf(other, "deprovision")).toEqual([]);
    await life.nothingLeft(uuid);
    // Done once; a second run finds nothing.
    expect(await reconcile(["--fix", kind, "--yes"])).toMatchObject({ code: 0, fixed: 0 });
    const [audit] = await life.world.rows(
      `SELECT action, state, done FROM operator_actions WHERE action LIKE $1 ORDER BY id LIMIT 1`,
      [`kit reconcile%${kind}%`],
    );
    expect(audit).toMatchObject({ state: "done" });
  });
});

describe("a list of the platform's", () => {
  it("is read whatever its form: capitals, quotes, twice the same, JSON, a byte order mark, lines that are no uuid", async () => {
    const uuids = await life.world.installed(5);
    const [a, b, c, d, e] = uuids as [string, string, string, string, string];
    const lines = [
      `\ufeffresource,name`,
      a.toUpperCase(),
      `"${b}","shop"\r`,
      `  ${c};x  `,
      JSON.stringify({ uuid: d, plan: "basic" }),
      `${e} ${randomUUID()}`,
      ...["", a, "garbage", "{not json", `x${a}`, "0".repeat(36), "\u0000\ufffd"],
    ];
    expect(await listed(lines)).toMatchObject({
      ...{ code: 0, differences: [] },
      notes: expect.arrayContaining([
        "6 lines of the list have no uuid at the beginning: line 1, 9, 10, 11, 12, ….",
        "1 line of the list named a uuid again.",
      ]),
    });
  });

  it.each([
    ["at its end", (uuid: string) => [uuid, "", "x".repeat(17 * 1024 * 1024)]],
    ["in its middle", (uuid: string) => [uuid, "", "x".repeat(17 * 1024 * 1024), uuid]],
  ])("that has a line that is too long %s is refused, and the line is named", async (_where, lines) => {
    const refused = {
      code: 2,
      id: "used_wrongly",
      message: containing("Line 3 on standard input is longer"),
    };
    expect(await listed(lines(await life.settled()))).toMatchObject(refused);
    const text = lines(randomUUID()).join("\r\n");
    const { code, stderr } = await kit(life.world.environment, ["resources", "import"], text);
    expect({ code, stderr }).toEqual({ code: 2, stderr: containing("Line 3 on standard input is longer") });
  });

  it("that is empty is a mistake, and says nothing of our resources", async () => {
    await life.settled();
    expect(await listed(["", "nothing"])).toMatchObject({ code: 2, id: "used_wrongly" });
  });

  it("that has what we do not have names it; a line with its plan is imported by --fix", async () => {
    const [bare, whole] = [randomUUID(), randomUUID()];
    const lines = [
      await life.settled(),
      bare,
      JSON.stringify({ uuid: whole, plan: "teapots:premium", name: "old" }),
    ];
    const unknown = [bare, whole].map((uuid) => differs(uuid, "unknown_here", null, "in the list"));
    expect(await listed(lines)).toMatchObject({ code: 1, differences: unknown });
    expect(await listed(lines, "--fix", "unknown_here", "--yes")).toMatchObject({
      ...{ code: 1, fixed: 1, differences: [unknown[0]], skipped: [{ uuid: bare, reason: "no_plan" }] },
    });
    expect(await life.resource(whole)).toMatchObject({ state: "provisioned", plan: "premium" });
  });

  it("that lacks an old resource of ours tells of it, but only what the platform confirms, or nobody can tell, is ended", async () => {
    const [there, refused, young] = (await life.world.installed(3)) as [string, string, string];
    for (const uuid of [there, refused]) await life.world.forged.resourceIsFrom(uuid, 3_600);
    for (const token of ["access", "refresh"] as const) life.control.revoke(refused, token);
    const other = await life.settled();
    const found = await listed([other]);
    expect(found.differences.sort((one, two) => (one.theirs! < two.theirs! ? -1 : 1))).toEqual([
      differs(refused, "gone_at_platform", "provisioned", "not in the list, token refused"),
      differs(there, "gone_at_platform", "provisioned", "not in the list, yet there"),
    ]);
    expect(found.notes).toContainEqual(containing("1 resource came or went too lately"));
    expect(await listed([other], "--fix", "gone_at_platform", "--yes")).toMatchObject({
      ...{ fixed: 1, skipped: [{ uuid: there, reason: "is_there" }] },
    });
    expect((await life.resource(young))!.state).toBe("provisioned");
  });

  it("and the service's own notice are one: a plan change for an unknown uuid is named without a list", async () => {
    const uuid = randomUUID();
    await life.platform.changePlan(uuid, { plan: "premium" });
    expect(await reconcile()).toMatchObject({
      ...{ code: 1, differences: [differs(uuid, "unknown_here", null, "asked for plan premium")] },
    });
  });
});

describe("the backend's list", () => {
  beforeEach(() => void (list = asItIs));

  it("names what it lacks, and what it has too much: an orphan of ours is taken down, once", async () => {
    const missing = await life.settled();
    const ended = await life.settled();
    await life.control.deprovision(ended);
    await life.nothingLeft(ended);
    backend.add(ended);
    await life.world.forged.resourceIsQuietFor(ended, 3_600);
    const before = recorded.callsOf(ended, "deprovision").length;
    expect((await reconcile()).differences).toEqual([
      differs(ended, "orphan_at_backend", "deprovisioned", "in your backend"),
      differs(missing, "missing_at_backend", "provisioned, basic", null),
    ]);
    const both = await Promise.all([1, 2].map(() => reconcile(["--fix", "orphan_at_backend", "--yes"])));
    expect(both.map(({ fixed }) => fixed)).toContain(1);
    await eventually(() => expect(backend.has(ended)).toBe(false));
    expect(recorded.callsOf(ended, "deprovision").length).toBeGreaterThan(before);
    await life.nothingLeft(ended);
    expect((await reconcile(["--fix", "missing_at_backend", "--yes"])).fixed).toBe(1);
    await eventually(() =>
      expect(recorded.callsOf(missing, "changePlan")).toMatchObject([{ plan: "basic" }]),
    );
  });

  it("lacks what was sold a moment before, however slowly the platform answers about it", async () => {
    const missing = await life.settled();
    life.control.fault(`GET /addons/${missing}`, { delayMs: 1_500 });
    expect((await reconcile()).differences).toEqual([
      differs(missing, "missing_at_backend", "provisioned, basic", null),
    ]);
  });

  it("with a uuid that we never saw is an orphan; without the platform's list it is not taken down", async () => {
    const [orphan, sold] = [randomUUID(), randomUUID()];
    const ours = await life.settled();
    for (const uuid of [orphan, sold, ours]) backend.add(uuid);
    const first = await reconcile(["--fix", "orphan_at_backend", "--yes"]);
    expect(first).toMatchObject({
      fixed: 0,
      skipped: [{ reason: "needs_platform_list" }, { reason: "needs_platform_list" }],
    });
    // After a restored backup the platform's newest customers are unknown here alone.
    const second = await listed([ours, sold], "--fix", "orphan_at_backend", "--yes");
    expect(second).toMatchObject({
      ...{ fixed: 1, differences: [differs(sold, "unknown_here", null, "in the list, and in your backend")] },
    });
    await isTakenDown(orphan);
    expect(recorded.callsOf(sold, "deprovision")).toEqual([]);
    expect(recorded.calls.find(({ uuid }) => uuid === orphan)).toMatchObject({ plan: "" });
    expect((await life.platform.provision({ uuid: orphan, plan: "basic" })).status).toBe(410);
  });

  it.each<[string, List, string]>([
    [
      "throws",
      async function* () {
        yield randomUUID();
        throw new Error("the backend is down");
      },
      "failed after 1: the backend is down",
    ],
    [
      "hangs",
      async function* () {
        yield randomUUID();
        await new Promise(() => undefined);
      },
      "nothing came for 0.3 s",
    ],

    [
      "gives what is no uuid",
      async function* () {
        yield "teapot";
      },
      "no uuids",
    ],
    [
      "throws at once",
      () => {
        throw new Error("no credentials");
      },
      "no credentials",
    ],
  ])("that %s is named, and nothing is missing for it", async (_what, broken, because) => {
    await life.settled();
    list = broken;
    const { code, faults, differences, isWhole } = await reconcile();
    expect([code, isWhole]).toEqual([1, false]);
    expect(faults.join()).toContain(because);
    expect(differences.filter(({ kind }) => kind === "missing_at_backend")).toEqual([]);
  });

  it("is left alone while something is on its way: a provision, a clean-up, what came since", async () => {
    recorded.next("finish", () => Promise.resolve({ later: "It comes.", againInSeconds: 3_600 }));
    const late = await life.control.install({ plan: "dedicated" });
    recorded.next("deprovision", () => Promise.resolve({ later: "It is going." }));
    const going = await life.settled();
    await life.control.deprovision(going);
    backend.add(going);
    expect(late.response.status).toBe(202);
    expect((await reconcile()).differences.filter(({ kind }) => kind.endsWith("_at_backend"))).toEqual([]);
  });
});

describe("the platform", () => {
  it("that is down in the middle ends the comparison, which goes on from there", async () => {
    const uuids = await life.world.installed(30);
    life.control.removeWithoutDeprovision(uuids[29]!);
    for (const uuid of uuids.slice(10)) life.control.fault(`GET /addons/${uuid}*`, { status: 503 }, 1_000);
    const first = await reconcile();
    expect(first).toMatchObject({ code: 1, isWhole: false, differences: [], next: uuids[7], checked: 8 });
    expect(first.faults.join()).toContain("The platform gives no answers");
    life.control.clearFaults();
    const second = await reconcile(["--after", first.next!]);
    expect(second).toMatchObject({
      code: 1,
      checked: 22,
      next: null,
      differences: [{ uuid: uuids[29], kind: "gone_at_platform" }],
    });
  });

  it("that asks for patience gets it", async () => {
    const uuid = await life.settled();
    life.control.fault(`GET /addons/${uuid}`, { status: 429, headers: { "Retry-After": "1" } }, 3);
    expect(await reconcile()).toMatchObject({ code: 0, differences: [], isWhole: true });
  });

  it("that gives no answer about one resource leaves that one out, and says so", async () => {
    const uuids = await life.world.installed(9);
    life.control.fault(`GET /addons/${uuids[3]}`, { status: 500 }, 1_000);
    expect(await reconcile()).toMatchObject({
      code: 1,
      checked: 9,
      differences: [],
      next: null,
      isWhole: false,
    });
  });
});

it("so many ends at once are refused: rather the list, or the platform, is wrong", async () => {
  const uuids = await life.world.installed(22);
  life.control.fault("* /addons/*", { status: 404 }, 100_000);
  const { code, ...failure } = await reconcile(["--fix", "gone_at_platform", "--yes"]);
  expect({ code, failure }).toEqual({
    code: 1,
    failure: { id: "too_many", message: containing("22 of 22 would be ended") },
  });
  const states = await life.world.rows(`SELECT DISTINCT state FROM resources WHERE uuid = ANY($1)`, [uuids]);
  expect(states).toEqual([{ state: "provisioned" }]);
});

it("people read a table of 80 columns, with what to do; --fix asks first", async () => {
  const uuid = await life.settled();
  life.control.removeWithoutDeprovision(uuid);
  const { code, stdout } = await say([]);
  expect(code).toBe(1);
  expect(stdout).toContain("gone_at_platform: 1, alive here, and the platform no longer has it\n");
  expect(stdout).toMatch(new RegExp(`^${uuid}  provisioned  404$`, "m"));
  expect(stdout).toContain(`→ kit resources erase ${uuid}`);
  expect(
    stdout.split("\n").filter((line) => line.length > 80 && !line.startsWith("→") && !line.startsWith("!")),
  ).toEqual([]);
  expect(await say(["--fix", "gone_at_platform"])).toMatchObject({
    code: 2,
    stderr: containing("Add --yes"),
  });
  expect((await life.resource(uuid))!.state).toBe("provisioned");
});
