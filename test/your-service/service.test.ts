import { plansOnSale } from "../../src/offer.ts";
import { addonId, offer } from "../../src/your-service/plans.ts";
import { aBrowser } from "../people/browser.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// The sample, sold through the front door. Put the tests of your own service in this folder, in the place of these.
const plans = plansOnSale(offer);
const [plan, larger] = plans.filter(([, { later }]) => !later).map(([name]) => name);
const [latePlan, { later } = {}] = plans.find(([, { later }]) => later) ?? [];

/** A test that needs a plan of some kind, which your offer may lack. */
const given = (needed: string | undefined) => (needed ? it : it.skip);

const SALT = "2f97bfa52ca102f8874716e2eb1d3b4920ad0be4";
const world = opened(() =>
  aWorld({
    sells: "yours",
    sandbox: { ssoSalt: SALT },
    environment: { SSO_SALT: SALT, SWEEP_CRON: "* * * * * *" },
  }),
);

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

describe("what src/your-service sells", () => {
  given(plan)("is delivered at once, with an address and a token", async () => {
    const { uuid, response, config } = await installed(plan!);
    expect(response).toMatchObject({ status: 200, body: { message: expect.stringContaining("ready") } });
    // An app may have them under other names, which are not known yet (docs/extend-it.md, "Under another name").
    const { message } = response.body as { message: string };
    expect(offer.configVars.filter((name) => message.includes(name))).toEqual([]);
    expect(config()).toMatchObject({
      TEAPOT_URL: `https://${plan}.${addonId}.example/${uuid}`,
      TEAPOT_TOKEN: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
  });

  given(larger)("changes its address with the plan, and keeps the token", async () => {
    const { uuid, config } = await installed(plan!);
    const { TEAPOT_TOKEN } = config();
    expect((await world.sandbox.control.changePlan(uuid, larger!)).response.status).toBe(200);
    await eventually(() => config()["TEAPOT_URL"]!.includes(larger!));
    expect(config()["TEAPOT_TOKEN"]).toBe(TEAPOT_TOKEN);
  });

  given(latePlan)("is delivered later in a plan that says so", async () => {
    const { uuid, response, config } = await installed(latePlan!);
    expect(response).toMatchObject({ status: 202, body: { message: later } });
    await eventually(() => world.sandbox.control.addon(uuid).state === "provisioned");
    expect(config()["TEAPOT_URL"]).toBe(`https://${latePlan}.${addonId}.example/${uuid}`);
  });

  it("shows its customers their plan, region and app", async () => {
    const { uuid, app } = await installed(offer.defaultPlan);
    await world.quiet([uuid]);
    const text = await customersPage(uuid);
    for (const shown of [`<p class="chosen">${offer.defaultPlan}`, "<dd>us</dd>", "Ready", app])
      expect(text).toContain(shown);
  });
});
