import type { Browser, Page } from "playwright-core";
import { aWorldOfOperators, type OperatorsWorld } from "../operator/pages/operator.ts";
import { aVisitor, chromiumPath, lookOf, LOOKS, startChromium } from "../support/chromium.ts";

// An operator who signs in at the platform with a real browser, which applies redirects, cookies and policies.

let operators: OperatorsWorld;
let browser: Browser;
let uuid: string;

(chromiumPath ? describe : describe.skip)(
  "the operator's pages with accounts, in a browser (Chromium; CHROMIUM_PATH names one)",
  () => {
    beforeAll(async () => {
      operators = await aWorldOfOperators("owner@example.com");
      // The platform sends people to the address that is registered, and nowhere else.
      const { port } = new URL(operators.url());
      const { id, secret } = operators.control.registerClient({
        ...{ name: "Teapots", redirectUri: `http://localhost:${port}/oauth/callback` },
      });
      Object.assign(operators.world.environment, { OAUTH_CLIENT_ID: id, OAUTH_CLIENT_SECRET: secret!, PORT: port });
      await operators.world.restart();
      uuid = await operators.world.settled();
      browser = await startChromium();
    }, 90_000); // prettier-ignore
    afterAll(async () => {
      await browser?.close();
      await operators?.close();
    });

    it.each(LOOKS)(
      "refuse one account, let the person change it, sign in and sign out: %s",
      async (where, look) => {
        const { context, page, problems } = await aVisitor({ browser, bypassCSP: true, ...look });
        const address = `${operators.url()}/operator/resources/${uuid}`;
        await page.goto(address);
        await looksWell(page, "ways-in", where);
        await page.getByRole("button", { name: "Sign in" }).click();
        await atPlatform(page, "newcomer@example.com");
        await page.waitForURL(address);
        expect(await page.textContent("h1")).toBe("Not for this account");
        await looksWell(page, "not-listed", where);
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.waitForURL(`${operators.url()}/operator`);

        await page.goto(address);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByRole("button", { name: "Use another account" }).click();
        await atPlatform(page, "owner@example.com");
        await page.waitForURL(address);
        expect(await page.textContent("body > header")).toContain("owner@example.com");
        await looksWell(page, "signed-in", where);
        await page.evaluate(`document.querySelector(".signed-in span").textContent = "x".repeat(200)`);
        await looksWell(page, "signed-in-at-length", where);
        await page.goto(`${operators.url()}/operator/actions/999`);
        await looksWell(page, "signed-in-problem", where);
        await page.getByRole("link", { name: "Overview" }).click();
        await looksWell(page, "signed-in-overview", where);
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.getByRole("button", { name: "Sign in" }).waitFor();
        expect((await context.cookies()).map(({ name }) => name)).not.toContain("kit_session");
        expect(problems).toEqual([]);
        await context.close();
      },
    );
  },
);

/** Signs in at the platform, where nobody has a password, and allows what is asked for. */
async function atPlatform(page: Page, email: string): Promise<void> {
  await page.getByRole("button", { name: email }).click();
  await page.getByRole("button", { name: "Allow" }).click();
}

async function looksWell(page: Page, name: string, where: string): Promise<void> {
  expect(await lookOf(page, name, where)).toEqual({ name, findings: [], overflow: 0 });
}
