import type { Browser } from "playwright-core";
import { aVisitor, chromiumPath, faultsOf, ON_A_PHONE, startChromium } from "../support/chromium.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

if (chromiumPath === undefined)
  console.warn(
    "Tests in a real browser are skipped: no Chromium is here. Install one, or name it in CHROMIUM_PATH.",
  );
const inChromium = chromiumPath ? describe : describe.skip;

inChromium("the sandbox's pages in a browser", () => {
  const salt = "a-sign-on-salt-of-this-test";
  const world = opened(() =>
    aWorld({ sandbox: { ssoSalt: salt }, environment: { SSO_SALT: salt, SWEEP_CRON: "* * * * * *" } }),
  );
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser?.close());
  const base = () => world.sandbox.url;
  const control = () => world.sandbox.control;
  const addon = () => control().state().addons.at(-1)!;

  it("show the whole life of an add-on as it happens", async () => {
    const { context, page, problems } = await aVisitor({ browser });
    const [shop, blog] = ["shop", "blog"] as const;
    const see = (words: string) => page.getByText(words).first().waitFor();
    const press = async (name: string) => {
      const isNext = page.waitForEvent("domcontentloaded");
      await page.getByRole("button", { name, exact: true }).click();
      await isNext;
    };
    const open = (title: string) => page.getByText(title, { exact: true }).click();
    const addonPage = () => page.goto(`${base()}/marketplace/addons/${addon().name}`);

    for (const name of [blog, shop]) {
      await page.goto(base());
      await page.getByLabel("Name").fill(name);
      await press("Create the app");
      await page.getByText(`The app ${name} was created.`).waitFor();
    }

    await page.getByLabel("premium").check();
    await open("Options, region, name");
    await page.getByLabel("Options").fill("colour=blue");
    await press("Install");
    await see("your service has its tokens");
    await see("TEAPOT_URL, TEAPOT_TOKEN");
    await see("exchanges the grant");

    await page.getByLabel("Attach it to").selectOption(blog);
    await press("Attach");
    await page.getByText(`Attached to ${blog}`).waitFor();
    expect(control().configVars(blog)).toHaveProperty("TEAPOT_URL");

    await page.getByLabel("Plan").selectOption("basic");
    await press("Change the plan");
    await eventually(() => addon().plan.name === "teapots:basic");

    await press("Open the add-on's page");
    await press("Continue to the add-on");
    await page.waitForURL(`${world.service.url}/customer/**`);
    // The address that a customer's command line opens: the form posts itself. One that was signed in the same second would be
    // the same, which is used.
    const second = () => Math.floor(Date.now() / 1000);
    const signedIn = second();
    await eventually(() => second() > signedIn);
    const atOnce = `${base()}/marketplace/addons/${addon().name}/sign-on?at-once`;
    await page.goto(atOnce, { waitUntil: "commit" });
    await page.waitForURL(`${world.service.url}/customer/**`);

    await addonPage();
    const deliveries = () =>
      control()
        .ledger()
        .entries.filter(({ path }) => path === "/resources");
    expect(deliveries()).toHaveLength(1);
    await press("Deliver the provision request again");
    await eventually(() => expect(deliveries()).toHaveLength(2));
    await page.getByLabel("And the answer").selectOption("lost");
    await press("Deliver the provision request again");
    await see("a fault was applied");
    await see("no answer");
    expect(addon().state).toBe("provisioned");

    await page.goto(`${base()}/marketplace/platform`);
    await open("Reset…");
    await press("Reset the client secret");
    await page.getByText("The client secret was reset.").waitFor();
    const secret = await page.getByLabel("Shown only once").inputValue();
    expect(addon().tokens.at(-1)).toMatchObject({ state: "revoked" });
    await world.restart({ environment: { CLIENT_SECRET: secret } });

    const before = Date.parse(control().state().now);
    await press("Advance the clock");
    await page.getByText("The platform's clock is now at").waitFor();
    expect(Date.parse(control().state().now) - before).toBeGreaterThanOrEqual(8 * 3_600_000);

    await page.getByLabel("Title").fill("Config changes are slow");
    await press("Post to the feed");
    await see("investigating");
    await press("Resolve");
    await page.getByText("Resolved: Config changes are slow").waitFor();

    await page.goto(`${base()}/marketplace/ledger`);
    await see("exchanges the grant");
    await page.goto(base());

    await addonPage();
    await open("Uninstall…");
    await press(`Uninstall ${addon().name}`);
    await eventually(() => addon().state === "deprovisioned");
    await addonPage();
    await see("This add-on was on");
    await context.close();
    expect(problems).toEqual([]);
  });

  it("have no accessibility fault and no clipped content", async () => {
    const { context, page } = await aVisitor({ browser, bypassCSP: true, ...ON_A_PHONE });
    const { name, app } = (await control().install({ plan: "premium" })).addon;
    for (const path of [
      ...["/", "/marketplace/ledger?before=6", "/marketplace/ledger?view=list&before=6"],
      ...["/marketplace/platform", "/marketplace/apps/no", `/marketplace/apps/${app.name}`],
      ...[`/marketplace/addons/${name}`, `/marketplace/addons/${name}/sign-on`],
    ]) {
      await page.goto(base() + path);
      await page.evaluate(openAll);
      expect(await faultsOf(page, path)).toEqual([]);
    }
    await context.close();
  });
});

/** Opens everything that can be opened; of the calls only the first, because they are alike. */
const openAll = `for (const each of document.querySelectorAll("details")) each.open = !each.matches("li + li > *");`;
