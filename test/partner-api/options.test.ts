import { z } from "zod";
import { addonManifest, defineOffer, type Offer } from "../../src/offer.ts";
import { openContext } from "../../src/open-context.ts";
import { examine } from "../../src/operator/doctor/doctor.ts";
import type { Options, OptionsSchema } from "../../src/options.ts";
import type { VendorResource } from "../../src/resources/contract.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { teapots } from "../support/teapots/index.ts";
import { offer as teapotOffer } from "../support/teapots/plans.ts";
import { opened } from "../support/world.ts";

// What a customer may choose when installing the add-on, as the schema in the offer says.

const options = z.object({
  glaze: z.enum(["matt", "gloss"]).describe("how it shines"),
  cups: z.coerce.number().int().min(1).max(12).default(6),
  lid: z.stringbool().default(true),
  engraving: z.string().max(10).optional(),
});
const sold = (schema: OptionsSchema) =>
  defineOffer({ ...teapotOffer, plans: { ...teapotOffer.plans }, options: schema });
const offer = sold(options);

const life = opened(() => aLifecycle({ parts: { offer } }));
const seen: Options[] = [];
const sees = async (resource: VendorResource) => {
  seen.push(resource.options);
  return teapots.provision(resource);
};
const ALIVE = `SELECT uuid FROM resources WHERE state IN ('provisioning', 'provisioned')`;
const stored = async (uuid: string) =>
  (await life.world.rows<{ options: Options }>(`SELECT options FROM resources WHERE uuid = $1`, [uuid]))[0]
    ?.options;
beforeEach(() => {
  seen.length = 0;
  life.vendor.asUsual();
});

describe("options that the schema allows", () => {
  it.each<[string, Options, Options]>([
    ["the least", { glaze: "matt" }, { glaze: "matt", cups: 6, lid: true }],
    [
      "all, as texts",
      { glaze: "gloss", cups: "2", lid: "no", engraving: "Ann" },
      { glaze: "gloss", cups: 2, lid: false, engraving: "Ann" },
    ],
    ["one that it does not have", { glaze: "matt", colour: "red" }, { glaze: "matt", cups: 6, lid: true }],
    [
      "the longest",
      { glaze: "matt", engraving: "0123456789" },
      { glaze: "matt", cups: 6, lid: true, engraving: "0123456789" },
    ],
  ])("reach your functions as it reads them, and are stored as they came: %s", async (_what, given, read) => {
    life.vendor.next("provision", sees);
    const request = aProvisionRequest({ options: given });
    expect((await life.platform.provision(request)).status).toBe(200);
    expect(seen).toEqual([read]);
    expect(await stored(request.uuid)).toEqual(given);
  });
});

describe("options that the schema does not allow", () => {
  it.each<[string, unknown, string]>([
    ["none, where one is needed", undefined, 'The option "glaze" is missing.'],
    ["a list in their place", ["matt"], 'The option "glaze" is missing.'],
    [
      "a word that is not offered",
      { glaze: "wood" },
      'The option "glaze" is wrong: Invalid option: expected one of "matt"|"gloss".',
    ],
    ["of the wrong type", { glaze: 7 }, 'The option "glaze" is wrong'],
    ["of the wrong type inside", { glaze: ["matt"] }, 'The option "glaze" is wrong'],
    ["null", { glaze: null }, 'The option "glaze" is wrong'],
    ["no number", { glaze: "matt", cups: "six" }, 'The option "cups" is wrong'],
    [
      "too much",
      { glaze: "matt", cups: "13" },
      'The option "cups" is wrong: Too big: expected number to be <=12.',
    ],
    ["neither yes nor no", { glaze: "matt", lid: "perhaps" }, 'The option "lid" is wrong'],
    ["too long", { glaze: "matt", engraving: "01234567890" }, 'The option "engraving" is wrong: Too big'],
    ["several", { cups: "0" }, 'The option "glaze" is missing. The option "cups" is wrong'],
  ])("are refused by name before anything is made: %s", async (_what, given, words) => {
    const request = aProvisionRequest({ options: given });
    const { status, body } = await life.platform.provision(request);
    expect({ status, body }).toEqual({
      status: 422,
      body: { id: "invalid_options", message: expect.stringContaining(words) as string },
    });
    expect(await life.resource(request.uuid)).toBeUndefined();
    expect(life.vendor.calls.filter(({ uuid }) => uuid === request.uuid)).toEqual([]);
  });

  it("are shown to the customer as the platform shows a refusal, and the values are not repeated", async () => {
    const { addon, response } = await life.control.install({ options: { glaze: "my-password" } });
    expect(response.status).toBe(422);
    expect(JSON.stringify(response.body)).toContain("glaze");
    expect(JSON.stringify(response.body)).not.toContain("my-password");
    expect(life.control.addon(addon.id).state).toBe("deprovisioned");
  });

  it("change nothing of a resource that is stored: a repeated request gets the first answer", async () => {
    const request = aProvisionRequest({ options: { glaze: "matt" } });
    const first = await life.platform.provision(request);
    const again = await life.platform.provision({ ...request, options: { glaze: "wood" } });
    expect([again.status, again.text]).toEqual([200, first.text]);
  });
});

it("a strict schema refuses what it does not have, a loose one passes it", async () => {
  const { world, platform, vendor } = life;
  const provision = (given: Options) => platform.provision(aProvisionRequest({ options: given }));
  await world.restart({ parts: { offer: sold(z.strictObject({ lid: z.string().optional() })), vendor } });
  expect((await provision({ colour: "red" })).body).toEqual({
    id: "invalid_options",
    message: 'The options are wrong: Unrecognized key: "colour".',
  });
  vendor.next("provision", sees);
  await world.restart({ parts: { offer: sold(z.looseObject({ lid: z.string() })), vendor } });
  expect((await provision({ colour: "red", lid: "none" })).status).toBe(200);
  expect(seen).toEqual([{ colour: "red", lid: "none" }]);
  await world.restart({ parts: { offer, vendor } });
});

it("a schema that asks for more than a customer chose delays the next work with the reason, until it takes it; the end is not delayed", async () => {
  const { world, platform, vendor, control } = life;
  const { addon } = await control.install({ options: { glaze: "matt" } });
  await world.quiet([addon.id]);
  const handle = options.extend({ handle: z.string() });
  await world.restart({ parts: { offer: sold(handle), vendor } });
  expect((await platform.changePlan(addon.id, { plan: "premium" })).status).toBe(202);
  expect(world.lines(addon.id, "options_differ")[0]).toContain('The option \\"handle\\" is missing.');
  const withDefault = options.extend({ handle: z.string().default("oak") });
  await world.restart({ parts: { offer: sold(withDefault), vendor } });
  await life.hurry(addon.id);
  await life.resourceBecomes(addon.id, { plan: "premium" });
  await world.restart({ parts: { offer: sold(handle), vendor } });
  await control.deprovision(addon.id);
  await life.nothingLeft(addon.id);
  expect(vendor.callsOf(addon.id, "deprovision")).toHaveLength(1);
  await world.restart({ parts: { offer, vendor } });
});

it("the check-up counts the customers whose options a stricter schema does not take, and names which, and whose", async () => {
  const { world, control, platform, vendor } = life;
  const misfits = async () => {
    const { services } = world.service;
    const { checks } = await examine({ readSettings: () => services.config, open: async () => services });
    return checks.find(({ id }) => id === "options")!;
  };
  for (const { uuid } of await world.rows<{ uuid: string }>(ALIVE)) await platform.deprovision(uuid);
  expect(await misfits()).toMatchObject({ ok: true, fix: null });
  const [ended, other, matt, gloss] = [
    await control.install({ options: { glaze: "matt" } }),
    await control.install({ options: { glaze: "matt", lid: "no" } }),
    await control.install({ options: { glaze: "matt" } }),
    await control.install({ options: { glaze: "gloss", cups: "2" } }),
  ].map(({ addon }) => addon.id);
  expect(await misfits()).toMatchObject({ ok: true, fix: null });
  await control.deprovision(ended!);
  const strict = options.extend({ glaze: z.literal("gloss"), cups: z.coerce.number() });
  await world.restart({ parts: { offer: sold(strict), vendor } });
  const found = await misfits();
  expect(found).toMatchObject({ fact: "options_misfit", urgency: "later", whom: { count: 2 } });
  expect([...found.whom!.uuids].sort()).toEqual([matt!, other!].sort());
  expect(found.message).toMatch(
    /^The options of 2 resources do not fit .*: The option "glaze" is wrong: .* \(2 resources\) The option "cups" is missing\. \(2 resources\) /,
  );
  expect(found.message).not.toContain(gloss);
  await world.restart({ parts: { offer, vendor } });
  expect(await misfits()).toMatchObject({ ok: true, fix: null });
});

it("the manifest has the options as JSON Schema, and the sandbox's customer gives an example of each that is required", async () => {
  expect(addonManifest("teapots", offer).options).toMatchObject({
    properties: {
      glaze: { enum: ["matt", "gloss"], description: "how it shines" },
      cups: { type: "integer", minimum: 1, maximum: 12, default: 6 },
    },
    required: ["glaze"],
  });
  const { addon } = await life.control.install();
  expect(await stored(addon.id)).toEqual({ glaze: "matt" });
});

it.each<[string, unknown, string]>([
  ["no schema", { glaze: "text" }, "options must be an object of zod"],
  ["a schema that asks somebody", z.object({}).refine(async () => true), "options must be an object of zod"],
])("options that are %s keep the service from starting", async (_what, schema, words) => {
  const wrong: Offer = { ...offer, options: schema as OptionsSchema };
  const start = openContext(teapotConfig(life.world.environment), { ...teapotParts, offer: wrong });
  await expect(start).rejects.toThrow(words);
});
