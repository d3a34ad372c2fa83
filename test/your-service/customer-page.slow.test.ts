import type { Browser } from "playwright-core";
import { aVisitor, chromiumPath, seriousFindings, startChromium } from "../support/chromium.ts";
import { offer } from "../../src/your-service/plans.ts";
import { aWorld, type World } from "../support/world.ts";

// The sample's page in a real browser, as a customer sees it who comes from the platform's dashboard.
const SALT = "2f97bfa52ca102f8874716e2eb1d3b4920ad0be4";
const DASHBOARD = "https://dashboard.example/";

let world: World;
let browser: Browser;

(chromiumPath ? describe : describe.skip)("the customer's page (Chromium; CHROMIUM_PATH names one)", () => {
  beforeAll(async () => {
    world = await aWorld({
      sells: "yours",
      sandbox: { ssoSalt: SALT },
      environment: { SSO_SALT: SALT, SWEEP_CRON: "* * * * * *" },
    });
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  it.each([
    ["on a desk", { viewport: { width: 1280, height: 800 } }],
    ["on a phone, in the dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" as const }],
  ])("shows plan, region, state and usage, and is accessible: %s", async (_where, look) => {
    const { control } = world.sandbox;
    const { addon } = await control.install({ plan: offer.defaultPlan });
    await world.quiet([addon.id]);
    const { context, page, problems } = await aVisitor({ browser, bypassCSP: true, ...look });
    const members = Object.entries(control.signOnForm(addon.id, "customer@example.com").form).map(
      ([name, value]) => `<input type="hidden" name="${name}" value="${value}">`,
    );
    const body = `<form method="post" action="${world.service.url}/sso/login">${members.join("")}<button>Open</button></form>`;
    await page.route(DASHBOARD, (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto(DASHBOARD);
    await page.getByRole("button", { name: "Open" }).click();
    await page.waitForURL(`${world.service.url}/customer/${addon.id}`);

    expect(await page.textContent("main")).toMatch(
      new RegExp(`Plan.*${offer.defaultPlan}.*Region.*us.*State.*Ready.*Usage.* of `, "s"),
    );
    expect(await seriousFindings(page)).toEqual([]);
    expect(
      await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
    ).toBeLessThanOrEqual(0);
    expect(problems).toEqual([]);
    await context.close();
  });
});
