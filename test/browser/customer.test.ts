import type { Browser, Page } from "playwright-core";
import { Fragment, h } from "preact";
import type { CustomerPage } from "../../src/people/contract.ts";
import { aWorldOfCustomers, type CustomersWorld, type Form } from "../people/customers.ts";
import { aVisitor, chromiumPath, lookOf, LOOKS, overflow, startChromium } from "../support/chromium.ts";
import { teapots } from "../support/teapots/index.ts";

// A customer with a real browser, coming from another site: the browser applies cookies, redirect and policy.

const DASHBOARD = "https://dashboard.example/";

let customers: CustomersWorld;
let browser: Browser;
let uuid: string;

(chromiumPath ? describe : describe.skip)(
  "the customer's page in a browser (Chromium; CHROMIUM_PATH names one)",
  () => {
    beforeAll(async () => {
      customers = await aWorldOfCustomers();
      uuid = await customers.life.settled();
      browser = await startChromium();
    });
    afterAll(async () => {
      await browser?.close();
      await customers?.close();
    });

    it.each(LOOKS)("sign-on, page and sign-out work: %s", async (where, look) => {
      const { context, page, problems } = await aVisitor({ browser, bypassCSP: true, ...look });
      await fromDashboard(page, customers.signedForm(uuid, `${where.replace(/\W+/g, "-")}@example.com`));
      await page.waitForURL(`${customers.url()}/customer/${uuid}`);
      expect(await page.textContent("main")).toMatch(/basic.*region us.*signed on as/s);
      expect(await lookOf(page, "customer", where)).toMatchObject({ findings: [], overflow: 0 });

      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL(`${customers.url()}/customer/signed-out`);
      expect(await lookOf(page, "signed-off", where)).toMatchObject({ findings: [], overflow: 0 });
      expect(await context.cookies()).toEqual([]);
      await page.goto(`${customers.url()}/customer/${uuid}`);
      expect(await page.textContent("h1")).toBe("You are not signed on");
      expect(problems).toEqual([]);
      await context.close();
    });

    it("works without JavaScript, and says when a sign-on form was used before", async () => {
      const { context, page } = await aVisitor({ browser, javaScriptEnabled: false });
      const form = customers.signedForm(uuid, "without@example.com");
      await fromDashboard(page, form);
      await page.waitForURL(`${customers.url()}/customer/${uuid}`);
      await fromDashboard(page, form);
      await page.waitForURL(`${customers.url()}/sso/login`);
      expect(await page.textContent("h1")).toBe("You are not signed on");
      // The first sign-on stays valid: nobody can end it with a form.
      expect((await page.goto(`${customers.url()}/customer/${uuid}`))!.status()).toBe(200);
      await context.close();
    });

    it.each(LOOKS)("an action of the page is sent and shows what came of it: %s", async (where, look) => {
      const run = async (_resource: unknown, form: URLSearchParams) => `Moved to ${form.get("host")}.`;
      const customerPage: CustomerPage = ({ name }, page) => ({
        title: name ?? "Teapot",
        content: h(Fragment, null, [
          h("p", null, "It stands on host one."),
          page.form("move", [
            h("label", null, "Host", h("input", { name: "host" })),
            h("button", null, "Move it"),
          ]),
        ]),
      });
      await customers.world.restart({
        parts: { customerPage, vendor: { ...teapots, actions: { move: { run } } } },
      });
      const { context, page, problems } = await aVisitor({ browser, bypassCSP: true, ...look });
      await fromDashboard(page, customers.signedForm(uuid, "colleague@example.com"));
      await page.getByLabel("Host").fill("host two");
      await page.getByRole("button", { name: "Move it" }).click();
      await page.waitForURL(/sent=/);
      expect(await page.getByRole("status").textContent()).toBe("Moved to host two.");
      expect(await lookOf(page, "customer-action", where)).toMatchObject({ findings: [], overflow: 0 });
      await page.goto(`${customers.url()}/customer/${uuid}`);
      await context.clearCookies();
      await fromDashboard(page, customers.signedForm(uuid, `newcomer@example.com`));
      expect(await page.getByRole("button", { name: "Move it" }).count()).toBe(0);
      expect(await lookOf(page, "customer-may-look", where)).toMatchObject({ findings: [], overflow: 0 });
      expect(problems).toEqual([]);
      await context.close();
    });

    it("scrolls a vendor's wide table inside the page on a phone", async () => {
      const cells = Array.from({ length: 12 }, (_, index) => h("td", null, `teapot-number-${index}`));
      const content = h("table", null, h("tbody", null, h("tr", null, cells)));
      await customers.world.restart({ parts: { customerPage: () => ({ title: "Wide", content }) } });
      const { context, page } = await aVisitor({ browser, viewport: { width: 390, height: 740 } });
      await fromDashboard(page, customers.signedForm(uuid, "phone@example.com"));
      await page.waitForURL(`${customers.url()}/customer/${uuid}`);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      await page.getByText("teapot-number-11").scrollIntoViewIfNeeded();
      expect(await page.evaluate("document.querySelector('table').scrollLeft")).toBeGreaterThan(0);
      await context.close();
    });
  },
);

/** Opens the platform's dashboard and presses its button there. */
async function fromDashboard(page: Page, form: Form): Promise<void> {
  const members = Object.entries(form).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${value}">`,
  );
  const body = `<form method="post" action="${customers.url()}/sso/login">${members.join("")}<button>Open</button></form>`;
  await page.route(DASHBOARD, (route) => route.fulfill({ contentType: "text/html", body }));
  await page.goto(DASHBOARD);
  await page.getByRole("button", { name: "Open" }).click();
}
