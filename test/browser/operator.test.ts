import type { Browser } from "playwright-core";
import { aWorldOfAnOperator, PASSWORD, type OperatorWorld } from "../operator/pages/operator.ts";
import { aVisitor, chromiumPath, lookOf, LOOKS, startChromium } from "../support/chromium.ts";

// An operator with a real browser: the password prompt, the policy, the script and the keyboard.

let operator: OperatorWorld;
let browser: Browser;
let uuid: string;

(chromiumPath ? describe : describe.skip)(
  "the operator's pages in a browser (Chromium; CHROMIUM_PATH names one)",
  () => {
    beforeAll(async () => {
      operator = await aWorldOfAnOperator({ environment: { LEGACY_GRANTS: "on" } });
      uuid = await operator.life.settled();
      await operator.life.settled("premium");
      await operator.world.rows(
        `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state, name, app_name)
           SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned', 'teapots-' || name, 'app-' || name
           FROM unnest(ARRAY['quiet-31', 'amber-7']) AS name RETURNING uuid)
         INSERT INTO credentials (uuid, state, reason) SELECT uuid,
           (ARRAY['grant_lost', 'no_grant'])[row_number() OVER ()], (ARRAY['expired', NULL])[row_number() OVER ()] FROM made`,
      );
      browser = await startChromium();
    });
    afterAll(async () => {
      await browser?.close();
      await operator?.close();
    });

    const anOperator = (look: object) =>
      aVisitor({ browser, httpCredentials: { username: "operator", password: PASSWORD }, ...look });

    it.each(LOOKS)("show the overview and find a resource: %s", async (where, look) => {
      const { context, page, problems } = await anOperator({ ...look, bypassCSP: true });
      const begun = (await operator.press(`/resources/${uuid}/refresh`)).location!;
      for (const [name, path] of [
        ["overview", ""],
        ["resources", "/resources"],
        ["resource", `/resources/${uuid}`],
        ["check-up", "/check-up"],
        ["audit", "/actions"],
        ["action", begun.replace("/operator", "")],
        ["push", `/resources/${uuid}/push`],
        ["secret", "/secret"],
        ["reseal", "/reseal"],
        ["problem", "/actions/999"],
      ] as const) {
        await page.goto(`${operator.url()}/operator${path}`);
        expect(await lookOf(page, name, where)).toEqual({ name, findings: [], overflow: 0 });
      }
      await page.goto(`${operator.url()}/operator/resources`);
      await page.getByRole("searchbox").fill(uuid.slice(0, 13));
      await page.keyboard.press("Enter");
      await page.waitForURL(/text=/);
      expect(await page.locator("tbody tr").count()).toBe(1);
      expect(problems).toEqual([]);
      await context.close();
    });

    it("allow an action with the keyboard alone, without JavaScript", async () => {
      const { context, page } = await anOperator({ javaScriptEnabled: false });
      await page.goto(`${operator.url()}/operator/resources/${uuid}`);
      await page.getByRole("button", { name: "Refresh its token" }).focus();
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/refresh$/);
      await page.getByRole("button", { name: "Refresh it" }).focus();
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/operator\/actions\/\d+$/);
      await page.goto(`${operator.url()}/operator/actions`);
      expect(await page.textContent("tbody tr")).toMatch(/refresh.*1 refreshed,/s);
      await context.close();
    });

    it("show the result of an action without a reload, under the Content-Security-Policy", async () => {
      const { context, page, problems } = await anOperator({ haste: 10 });
      operator.control.fault("POST /oauth/token", { delayMs: 6_000 }, 2);
      await page.goto(`${operator.url()}/operator/refresh-all`);
      await page.getByRole("button", { name: "Refresh all tokens" }).click();
      await page.waitForURL(/\/operator\/actions\/\d+$/);
      const told = page.getByRole("status");
      expect(await told.textContent()).toBe("running");
      // The live region exists before, and stays unchanged while there is nothing to report.
      await page.evaluate(`(${WATCH})(document.querySelector("[role=status]"))`);
      await page.getByText("2 refreshed,").waitFor();
      expect(await told.textContent()).toMatch(/^done.*2 refreshed,/);
      expect(await page.evaluate(`document.querySelector("[role=status]").changes`)).toBe(1);
      expect(problems).toEqual([]);
      await context.close();
    });

    it("keep the platform's answer on the page while the rest is updated", async () => {
      const { context, page, problems } = await anOperator({ haste: 10 });
      await page.goto(`${operator.url()}/operator/resources/${uuid}`);
      await page.getByText("where it was installed").waitFor();
      const since = operator.life.position();
      await operator.world.rows(`UPDATE credentials SET last_error = 'written meanwhile' WHERE uuid = $1`, [
        uuid,
      ]);
      await page.getByText("written meanwhile").waitFor();
      expect(operator.life.entries(since).filter(({ direction }) => direction === "in")).toEqual([]);
      expect(await page.getByText("where it was installed").count()).toBe(1);
      expect(problems).toEqual([]);
      await context.close();
    });
  },
);

/** Counts how often something happens in an element. */
const WATCH = `(region) => {
  region.changes = 0;
  new MutationObserver(() => (region.changes += 1)).observe(region, { childList: true, subtree: true, characterData: true });
}`;
