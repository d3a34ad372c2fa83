import { mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { PASSWORD } from "../operator/pages/operator.ts";
import { aWorldOfCustomers } from "../people/customers.ts";
import { aVisitor, chromiumPath, faultsOf, ON_A_PHONE, startChromium } from "../support/chromium.ts";
import { inventCustomers, inventedVendor } from "../support/invented-customers.tsx";
import { kit } from "../support/kit.ts";
import { opened } from "../support/world.ts";

// Every page of the customer, the operator and the sandbox, as they are with a hundred invented customers: without a finding
// of axe and without clipped content, light and dark, on a desk and on a phone. `npm run screenshots` takes the pictures of
// docs/images anew; with SCREENSHOTS=some/folder, every page is taken whole, into that folder.

const wanted = process.env["SCREENSHOTS"];
const folder = wanted?.includes("/") ? wanted : fileURLToPath(new URL("../../docs/images", import.meta.url));
const LARGEST_IMAGE = 150_000;

const PICTURES = [
  { suffix: "", viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  { suffix: "-phone", viewport: { width: 390, height: 844 }, colorScheme: "dark" },
] as const;

const inChromium = chromiumPath ? describe : describe.skip;

inChromium("with a hundred customers", () => {
  const invented = inventedVendor();
  const customers = opened(() =>
    aWorldOfCustomers({
      parts: invented.parts,
      environment: { OPERATOR_PASSWORD: PASSWORD, DASHBOARD_URL: "https://dashboard.example/apps/{app}" },
    }),
  );
  let browser: Browser;
  let some: Awaited<ReturnType<typeof inventCustomers>>;
  beforeAll(async () => {
    browser = await startChromium();
    some = await inventCustomers(customers.life, invented);
    const { environment } = customers.world;
    const text = "Our kiln in the region eu is down. Teapots there are out of reach; nothing is lost.";
    await kit(environment, ["notice", "set", text, "--severity", "outage", "--until", "2100-01-01T10:00Z"]);
  });
  afterAll(() => browser?.close());

  /** Comes from the platform's dashboard, which is another site. */
  async function open(page: Page, uuid: string, user = "owner@example.com"): Promise<void> {
    const members = Object.entries(customers.signedForm(uuid, user)).map(
      ([name, value]) => `<input type="hidden" name="${name}" value="${value}">`,
    );
    await page.setContent(
      `<form method="post" action="${customers.url()}/sso/login">${members.join("")}<button>Open</button></form>`,
    );
    await page.getByRole("button").click();
    await page.waitForURL(/\/customer\//);
  }

  it("a customer destroys with the keyboard alone, without JavaScript, and only after the question", async () => {
    const { context, page } = await aVisitor({ browser, javaScriptEnabled: false, ...ON_A_PHONE });
    await open(page, some.basic);
    await page.getByRole("button", { name: "Empty the teapot" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Empty the teapot?" }).waitFor();
    await page.getByRole("button", { name: "Empty the teapot" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/sent=/);
    expect(await page.getByRole("status").textContent()).toBe(
      "The teapot is empty: 12,408 cups were poured away.",
    );
    await context.close();
  });

  const visit = () =>
    aVisitor({
      browser,
      bypassCSP: true,
      httpCredentials: { username: "operator", password: PASSWORD },
      ...ON_A_PHONE,
    });

  /** The look alone: docs/images has no picture of it. */
  async function isSound(page: Page, name: string): Promise<void> {
    expect(await faultsOf(page, name)).toEqual([]);
  }

  async function looksWell(page: Page, name: string): Promise<void> {
    await isSound(page, name);
    if (!wanted) return;
    for (const { suffix, viewport, colorScheme } of PICTURES) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await take(page, name + suffix);
    }
  }

  it("the customers' pages look well", async () => {
    const { context, page, problems } = await visit();
    await open(page, some.premium);
    await looksWell(page, "customer");
    await page.getByRole("button", { name: "Move it" }).click();
    await page.waitForURL(/sent=/);
    await looksWell(page, "customer-done");
    await page.getByRole("button", { name: "Empty the teapot" }).click();
    await page.getByRole("heading", { name: "Empty the teapot?" }).waitFor();
    await looksWell(page, "customer-question");
    await page.getByRole("link", { name: "Leave it as it is" }).click();
    await page.getByRole("link", { name: "Usage" }).click();
    await page.waitForURL(/pages\/usage$/);
    await looksWell(page, "customer-usage");
    await page.getByText("Cups in numbers").click();
    await isSound(page, "customer-usage-in-numbers");
    const saved = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download all days as CSV" }).click();
    expect((await saved).suggestedFilename()).toBe("usage.csv");
    await page.getByRole("button", { name: "Empty the teapot" }).click();
    await page.getByRole("heading", { name: "Empty the teapot?" }).waitFor();
    await page.getByRole("button", { name: "Empty the teapot" }).click();
    await page.waitForURL(/pages\/usage\?sent=/);
    await isSound(page, "customer-usage-done");
    await page.getByRole("link", { name: "Shelf" }).click();
    await isSound(page, "customer-shelf");
    await page.goto(page.url().replace("empty-shelf", "cellar"));
    await page.getByText("There is nothing here").waitFor();
    await isSound(page, "customer-no-such-page");
    await open(page, some.failing, "a.colleague.with.a.rather.long.name@department.of.a.customer.example");
    await looksWell(page, "customer-changing");
    await open(page, some.making);
    await looksWell(page, "customer-making");
    await open(page, some.suspended);
    await looksWell(page, "customer-suspended");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are not signed on").waitFor();
    await looksWell(page, "customer-signed-out");
    expect(problems).toEqual([]);
    await context.close();
  });

  it("the operator's pages look well", async () => {
    const { context, page, problems } = await visit();
    const operator = `${customers.url()}/operator`;
    await page.goto(operator);
    const places: string[] = await page.evaluate(
      "[...document.querySelectorAll('nav a')].map((each) => each.pathname)",
    );
    expect(places.length).toBeGreaterThan(3);
    const named = places.map((path) => [path.split("/")[2] ?? "overview", path.replace("/operator", "")]);
    for (const [name, path] of [
      ...named,
      ["resource", `/resources/${some.premium}`],
      ["resource-failing", `/resources/${some.failing}`],
      ["question", `/resources/${some.premium}/push`],
      ["resource-suspended", `/resources/${some.suspended}`],
      ["suspend", `/resources/${some.premium}/suspend`],
      ["suspended", "/resources?state=suspended"],
      ["notice", "/notice"],
      ["customer", `/resources/${some.premium}/customer`],
      ["customer-usage", `/resources/${some.premium}/customer/pages/usage`],
    ]) {
      expect((await page.goto(operator + path))!.status()).toBe(200);
      await looksWell(page, `operator-${name}`);
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  it("the sandbox's pages look well", async () => {
    const { context, page, problems } = await visit();
    const { name, app } = customers.control.addon(some.premium);
    for (const [picture, path] of [
      ["sandbox", "/"],
      ["sandbox-app", `/marketplace/apps/${app.name}`],
      ["sandbox-addon", `/marketplace/addons/${name}`],
      ["sandbox-sign-on", `/marketplace/addons/${name}/sign-on`],
      ["sandbox-ledger", "/marketplace/ledger"],
      ["sandbox-platform", "/marketplace/platform"],
    ] as const) {
      await page.goto(customers.world.sandbox.url + path);
      await looksWell(page, picture);
    }
    expect(problems).toEqual([]);
    await context.close();
  });
});

/** For docs/images as much of the page as makes a small picture. */
async function take(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const path = `${folder}/${name}.png`;
  if (folder === wanted) return void (await page.screenshot({ path, fullPage: true }));
  const { width, height } = page.viewportSize()!;
  for (const share of [1, 0.75, 0.5]) {
    await page.screenshot({
      path,
      animations: "disabled",
      clip: { x: 0, y: 0, width, height: height * share },
    });
    if (statSync(path).size < LARGEST_IMAGE) return;
  }
  throw new Error(`The picture ${name} is larger than ${LARGEST_IMAGE} bytes.`);
}
