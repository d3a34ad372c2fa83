import type { Browser, Page } from "playwright-core";
import { h } from "preact";
import type { CustomerPage } from "../../src/people/contract.ts";
import { aWorldOfCustomers, type CustomersWorld, type Form } from "../people/customers.ts";
import { aVisitor, chromiumPath, lookOf, LOOKS, startChromium } from "../support/chromium.ts";
import { teapots } from "../support/teapots/index.ts";

// A customer with a real browser, coming from another site: the browser applies cookies, redirect and policy.

const DASHBOARD = "https://dashboard.example/";

const run = async (_resource: unknown, form: URLSearchParams) => `Moved to ${form.get("host")}.`;
const customerPage: CustomerPage = async (resource, page) => {
  const { title, content } = await teapots.customerPage(resource, page);
  const host = h("label", null, "Host", h("input", { name: "host" }));
  return { title, content: [content, page.form("move", [host, h("button", null, "Move it")])] };
};

let customers: CustomersWorld;
let browser: Browser;
let uuid: string;

(chromiumPath ? describe : describe.skip)(
  "the customer's page in a browser (Chromium; CHROMIUM_PATH names one)",
  () => {
    beforeAll(async () => {
      customers = await aWorldOfCustomers({ parts: { customerPage } });
      Object.assign(customers.life.vendor, { actions: { move: { run } } });
      uuid = await customers.life.settled();
      browser = await startChromium();
    });
    afterAll(async () => {
      await browser?.close();
      await customers?.close();
    });

    it.each(LOOKS)(
      "sign-on, an action, what another may only look at, and sign-out: %s",
      async (where, look) => {
        const { context, page, problems } = await aVisitor({ browser, bypassCSP: true, ...look });
        const at = where.replace(/\W+/g, "-");
        const looksWell = async (name: string) =>
          expect(await lookOf(page, name, where)).toMatchObject({ findings: [], overflow: 0 });
        await fromDashboard(page, customers.signedForm(uuid, `newcomer-${at}@example.com`));
        await page.waitForURL(`${customers.url()}/customer/${uuid}`);
        expect(await page.textContent("main")).toMatch(/basic.*region us.*signed on as/s);
        expect(await page.getByRole("button", { name: "Move it" }).count()).toBe(0);
        await looksWell("customer-may-look");
        await fromDashboard(page, customers.signedForm(uuid, "colleague@example.com"));
        await page.getByLabel("Host").fill("host two");
        await page.getByRole("button", { name: "Move it" }).click();
        await page.waitForURL(/sent=/);
        expect(await page.getByRole("status").textContent()).toBe("Moved to host two.");
        await looksWell("customer-action");

        await page.getByRole("button", { name: "Sign out" }).click();
        await page.waitForURL(`${customers.url()}/customer/${uuid}`);
        expect(await context.cookies()).toEqual([]);
        expect(await page.textContent("h1")).toBe("You are not signed on");
        await looksWell("not-signed-on");
        expect(problems).toEqual([]);
        await context.close();
      },
    );
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
