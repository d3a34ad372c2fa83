import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { aBrowser } from "../sign-in/browser.ts";
import { aWorld, eventually, type World } from "../support/world.ts";
import { usageOf } from "../../src/your-service/usage.ts";

// The sample, sold through the front door. Put the tests of your own service in this folder, in the place of these.
const SALT = "2f97bfa52ca102f8874716e2eb1d3b4920ad0be4";
let world: World;
beforeAll(async () => {
  world = await aWorld({
    sells: "yours",
    sandbox: { ssoSalt: SALT },
    environment: { SSO_SALT: SALT, SWEEP_CRON: "* * * * * *" },
  });
}, 60_000);
afterAll(() => world.close());

/** Installs it on an app of its own; answers with what the platform and the app's developer see. */
async function installed(plan: string) {
  const { control } = world.sandbox;
  const app = control.createApp({}).name;
  const { addon, response } = await control.install({ app, plan });
  return { uuid: addon.id, app, response, config: () => control.configVars(app) };
}

/** What a customer sees who comes from the platform's dashboard. */
async function customersPage(uuid: string): Promise<string> {
  const browser = aBrowser(() => world.service.url!);
  const { form } = world.sandbox.control.signOnForm(uuid);
  const { location } = await browser.post("/sso/login", {}, new URLSearchParams(form));
  return (await browser.get(location!)).text;
}

describe("the teapot company", () => {
  it("delivers at once, with an address and a token", async () => {
    const { uuid, response, config } = await installed("basic");
    expect(response).toMatchObject({ status: 200, body: { message: expect.stringContaining("TEAPOT_URL") } });
    expect(config()).toMatchObject({
      TEAPOT_URL: `https://basic.teapots.example/${uuid}`,
      TEAPOT_TOKEN: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
  });

  it("changes the address with the plan, and keeps the token", async () => {
    const { uuid, config } = await installed("basic");
    const { TEAPOT_TOKEN } = config();
    expect((await world.sandbox.control.changePlan(uuid, "premium")).response.status).toBe(200);
    await eventually(() => config()["TEAPOT_URL"]!.includes("premium"));
    expect(config()["TEAPOT_TOKEN"]).toBe(TEAPOT_TOKEN);
  });

  it("delivers later what is fired to order", async () => {
    const { uuid, response, config } = await installed("dedicated");
    expect(response).toMatchObject({
      status: 202,
      body: { message: expect.stringContaining("being fired") },
    });
    await eventually(() => world.sandbox.control.addon(uuid).state === "provisioned");
    expect(config()["TEAPOT_URL"]).toBe(`https://dedicated.teapots.example/${uuid}`);
  });

  it("shows its customers their plan, region and app, and how much they have used", async () => {
    const { uuid, app } = await installed("basic");
    await world.quiet([uuid]);
    const text = await customersPage(uuid);
    for (const shown of ["basic: A teapot for one", "<dd>us</dd>", "Ready", app, "of 8 cups today"])
      expect(text).toContain(shown);
  });

  it("shows no usage of a plan that usage.ts does not know", async () => {
    const { uuid } = await installed("basic");
    await world.quiet([uuid]);
    await world.rows(`UPDATE resources SET plan = 'banquet', applied_plan = 'banquet' WHERE uuid = $1`, [
      uuid,
    ]);
    const text = await customersPage(uuid);
    expect(text).toContain("<dd>banquet</dd>");
    expect(text).not.toMatch(/Usage|progress|cups/);
  });
});

it("a teapot pours a cup every two hours of today, from when it was bought, and no more than the plan has", async () => {
  const noon = new Date("2030-01-02T12:00:00Z");
  const used = async (plan: string, createdAt: string) =>
    (await usageOf({ plan, createdAt: new Date(createdAt) } as Parameters<typeof usageOf>[0], noon))?.used;
  expect(await used("basic", "2030-01-01T00:00:00Z")).toBe(6);
  expect(await used("basic", "2030-01-02T07:59:00Z")).toBe(2);
  expect(await used("unheard-of", "2030-01-01T00:00:00Z")).toBeUndefined();
});
