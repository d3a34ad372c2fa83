import type { Done, Outcome } from "../../src/resources/contract.ts";
import { kit } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// Invalid results of a vendor's function: the log names what was returned, and the function is called again until it
// is fixed.

const life = opened(() => aLifecycle());
afterEach(() => life.vendor.asUsual());

type Broken = "provision" | "changePlan" | "finish";
const answers = (what: Broken, answer: unknown) =>
  life.vendor.next(what, async () => answer as Outcome & Done);
/** The log lines about a resource. */
const saidOf = (uuid: string) => life.world.lines(uuid).join("\n");
const config = { TEAPOT_URL: "https://teapots.example/broken", TEAPOT_TOKEN: "broken" };

it("a finish() that returns nothing is reported with what is missing, also by kit resources show", async () => {
  for (let i = 0; i < 20; i++) answers("finish", undefined);
  const { addon } = await life.control.install({ plan: "dedicated" });
  await eventually(() => expect(saidOf(addon.id)).toContain("finish() returned nothing; it must return"));
  await eventually(async () => {
    const { stdout } = await kit(life.world.environment, ["resources", "show", addon.id]);
    expect(stdout).toContain("finish() returned nothing");
  });
  life.vendor.asUsual();
  await life.hurry(addon.id);
  await life.nothingLeft(addon.id);
});

it.each<[string, () => unknown, string]>([
  ["nothing", () => null, "changePlan() returned nothing;"],
  ["a list as config", () => ({ config: [] }), "as a plain object of names and texts."],
  [
    "a promise as config",
    () => ({ config: Promise.resolve(config) }),
    "as a plain object of names and texts.",
  ],
  [
    "a var that is not declared",
    () => ({ config: { LD_PRELOAD: "x" } }),
    "set LD_PRELOAD, which is not among",
  ],
  ["config together with later", () => ({ config, later: "Soon." }), "returned both config and later"],
])("changePlan that returns %s: 202, no var is removed, and the log says why", async (_, answer, said) => {
  const uuid = await life.settled("basic");
  const since = life.position();
  answers("changePlan", answer());
  expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
  await life.nothingLeft(uuid);
  expect(saidOf(uuid)).toContain(said);
  // Under the same key.
  const [first, ...more] = life.vendor.callsOf(uuid, "changePlan");
  expect(more).toEqual([first]);
  const sent = life.patchesOf(uuid, since).flatMap((patch) => patch.config.map(({ value }) => value));
  expect(sent).not.toContain(null);
  expect(Object.keys(life.varsAt(uuid)).sort()).toEqual(["TEAPOT_TOKEN", "TEAPOT_URL"]);
  expect(await life.resource(uuid)).toMatchObject({ plan: "premium" });
});

it("a config var that is not a string is reported by its type, never by its value", async () => {
  answers("provision", { config: { ...config, TEAPOT_URL: new URL("https://hunter2hunter2.example") } });
  const { addon } = await life.control.install({ plan: "basic" });
  await life.nothingLeft(addon.id);
  expect(saidOf(addon.id)).toContain("set TEAPOT_URL to something of type object, and not to a text.");
  expect(life.world.logged()).not.toContain("hunter2hunter2");
});

it("an error of the vendor's code that quotes a config value shows it neither in the log nor in the database", async () => {
  const uuid = await life.settled();
  const secret = "a-config-value-nobody-may-see";
  life.vendor.next("changePlan", () => Promise.resolve({ config: { TEAPOT_TOKEN: secret } }));
  await life.control.changePlan(uuid, "premium");
  await life.nothingLeft(uuid);
  life.vendor.next("changePlan", () => Promise.reject(new Error("First try fails.")));
  life.vendor.next("changePlan", () => Promise.reject(new Error(`Could not set ${secret}.`)));
  await life.control.changePlan(uuid, "basic");
  await life.hurry(uuid);
  await eventually(() => expect(life.vendor.callsOf(uuid, "changePlan").length).toBeGreaterThanOrEqual(3));
  await eventually(() => expect(life.world.logged()).toMatch(/Could not set \[secret\]\./));
  expect(life.world.logged()).not.toContain(secret);
  const errors = await life.world.rows<{ last_error: string | null }>(
    `SELECT last_error FROM steps WHERE uuid = $1`,
    [uuid],
  );
  expect(JSON.stringify(errors)).not.toContain(secret);
});
