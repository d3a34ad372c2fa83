import { randomUUID } from "node:crypto";
import { aVendor } from "../support/a-vendor.ts";
import { kit, kitJson } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { opened } from "../support/world.ts";

// kit resources export: all that is kept of a customer's resources, and what import takes again.

const vendor = {
  ...aVendor(),
  exportData: (uuid: string): Promise<unknown> => Promise.resolve({ queue: uuid, messages: 7 }),
};
const life = opened(() => aLifecycle({ parts: { vendor: vendor as never } }));
afterEach(() => void (vendor.exportData = (uuid) => Promise.resolve({ queue: uuid, messages: 7 })));

interface Line {
  uuid: string;
  state: string;
  config: unknown;
  yours: unknown;
  incomplete?: string[];
  [member: string]: unknown;
}
async function exported(words: string[] = [], environment = {}) {
  const env = { ...life.world.environment, ...environment };
  const { code, stdout, stderr } = await kit(env, ["resources", "export", ...words], "", {
    vendor: vendor as never,
  });
  return {
    code,
    stderr,
    stdout,
    lines: stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line),
  };
}

it("a resource is one line with everything but secrets; --reveal adds the values of its config vars, and is in the audit trail", async () => {
  const uuid = await life.settled();
  await life.world.forged.aCustomerIsSignedOn(uuid, "ann@example.com", "ann");
  await kitJson(life.world.environment, ["tokens", "refresh", uuid]);
  const { code, lines, stdout } = await exported([uuid.toUpperCase(), uuid]);
  expect(code).toBe(0);
  const { token } = life.control.state().addons.find(({ id }) => id === uuid) as unknown as {
    token?: string;
  };
  expect(token).toBeUndefined();
  expect(lines).toEqual([
    {
      ...{
        uuid,
        name: expect.any(String),
        plan: "basic",
        region: "us",
        state: "provisioned",
        options: {},
        attached: 1,
        attachedAs: null,
      },
      ...{
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        app: { id: expect.any(String), name: expect.any(String) },
      },
      credential: expect.objectContaining({ state: "active", generation: 2 }),
      config: ["TEAPOT_URL", "TEAPOT_TOKEN"],
      people: [{ email: "ann@example.com", userId: "ann", signedOnAt: expect.any(String) }],
      events: expect.arrayContaining([expect.objectContaining({ type: "tokens_issued" })]),
      actions: [{ at: expect.any(String), action: `kit tokens refresh ${uuid}`, state: "done" }],
      ...{ lost: [], kept: null, suspended: null },
      yours: { queue: uuid, messages: 7 },
    },
  ]);
  const { TEAPOT_TOKEN: secret } = life.varsAt(uuid);
  expect(stdout).not.toContain(secret);
  const revealed = await exported([uuid, "--reveal"]);
  expect(revealed.lines).toMatchObject([
    { config: life.varsAt(uuid), logInputUrl: null, logDrainToken: null },
  ]);
  expect(revealed.stdout).not.toContain(life.world.sandbox.settings.clientSecret);
  expect(revealed.stdout).not.toContain("SVCK-");
  const audit = `SELECT action FROM operator_actions WHERE action LIKE '%export%'`;
  expect(await life.world.rows(audit)).toEqual([{ action: `kit resources export ${uuid} --reveal` }]);
});

it("the lines of all are imported elsewhere: with app and name; what had ended is left out", async () => {
  const [kept, ended] = [await life.settled("premium"), await life.settled()];
  await life.control.deprovision(ended);
  await life.nothingLeft(ended);
  const all = await exported();
  expect(all.code).toBe(0);
  const before = all.lines.find(({ uuid }) => uuid === kept)!;
  expect(all.lines.map(({ uuid }) => uuid)).toEqual(all.lines.map(({ uuid }) => uuid).sort());
  await life.world.forged.nothingIsLeftOf("events", "steps", "credentials", "resources");
  const { code, data } = await kitJson<{ imported: number; skipped: object[] }>(
    life.world.environment,
    ["resources", "import"],
    all.stdout,
  );
  expect(code).toBe(0);
  expect(data.skipped).toEqual([{ line: expect.any(Number), uuid: ended, reason: "not_provisioned" }]);
  const { lines } = await exported([kept]);
  const { name, plan, region, app, state } = before;
  expect(lines).toMatchObject([
    { uuid: kept, name, plan, region, app, state, credential: { state: "no_grant" } },
  ]);
});

it.each<[string, () => Promise<unknown>, object, string]>([
  [
    "your service's part throws",
    () => Promise.reject(new Error("the broker is down")),
    {},
    "yours: the broker is down",
  ],
  ["your service's part is no JSON", () => Promise.resolve({ n: 1n }), {}, "yours: "],
  [
    "a key is missing",
    () => Promise.resolve(null),
    { ENCRYPTION_KEY: "a-key-that-sealed-nothing-".repeat(2) },
    "config: ",
  ],
])(
  "when %s, the line says what is missing, and the exit code is 1",
  async (_what, exportData, environment, because) => {
    const uuid = await life.settled();
    vendor.exportData = exportData;
    const { code, lines, stderr } = await exported([uuid], environment);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("1 line incomplete") });
    expect(lines).toMatchObject([{ uuid, incomplete: [expect.stringContaining(because)] }]);
  },
);

it("a uuid that is not there is named, and the others are written", async () => {
  const [uuid, unknown] = [await life.settled(), randomUUID()];
  const { code, lines, stderr } = await exported([unknown, uuid]);
  expect([code, lines.map((line) => line.uuid)]).toEqual([1, [uuid]]);
  expect(stderr).toContain(`There is no resource ${unknown}.`);
  expect((await exported(["teapot"])).code).toBe(2);
});
