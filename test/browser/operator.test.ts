import type { Browser } from "playwright-core";
import { aWorldOfAnOperator, PASSWORD, type OperatorWorld } from "../operator/pages/operator.ts";
import { aVisitor, chromiumPath, lookOf, LOOKS, overflow, startChromium } from "../support/chromium.ts";

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

    it.each(LOOKS)("wrap long text within the page, without large gaps: %s", async (_where, look) => {
      const { context, page } = await anOperator(look);
      const long = "long".repeat(75);
      await operator.world.rows(
        `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state, name, app_name)
           VALUES (gen_random_uuid(), 'basic', 'basic', 'provisioned', $1, $1) RETURNING uuid),
         kept AS (INSERT INTO credentials (uuid, state, last_error) SELECT uuid, 'needs_reauth', $1 FROM made),
         put_off AS (INSERT INTO steps (uuid, kind, attempts, last_error) SELECT uuid, 'deprovision', 3, $1 FROM made),
         happened AS (INSERT INTO events (uuid, type, detail) SELECT uuid, 'failed', jsonb_build_object('because', $1::text) FROM made)
         INSERT INTO operator_actions (action, form, state, message, uuid, ended_at) SELECT 'refresh', $1, 'failed', $1, uuid, now() FROM made`,
        [`https://${look.viewport.width}.${long}`],
      );
      const [made] = await operator.world.rows<{ uuid: string; id: string }>(
        `SELECT uuid, id::text FROM operator_actions WHERE message LIKE '%' || $1 ORDER BY id DESC LIMIT 1`,
        [long],
      );
      for (const path of ["/resources", `/resources/${made!.uuid}`, "/actions", `/actions/${made!.id}`]) {
        await page.goto(`${operator.url()}/operator${path}`);
        await page.getByText(long).first().waitFor();
        expect([path, await overflow(page)]).toEqual([path, 0]);
      }
      await context.close();
    });

    it.each(["light", "dark"] as const)(
      "keep a button readable while it is pressed: %s",
      async (colorScheme) => {
        const { context, page } = await anOperator({ colorScheme, reducedMotion: "reduce" });
        await page.goto(`${operator.url()}/operator`);
        const button = page.getByRole("button", { name: "Refresh all tokens" });
        await page.keyboard.press("Tab");
        await button.focus();
        expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
        expect(await page.evaluate(`(${CONTRAST})(document.activeElement)`)).toBeGreaterThan(4.5);
        await button.hover();
        expect(await page.evaluate(`(${CONTRAST})(document.activeElement)`)).toBeGreaterThan(4.5);
        await context.close();
      },
    );

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
      operator.control.fault("POST /oauth/token", { delayMs: 3_000 }, 2);
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
      await page.getByText("TEAPOT_URL").first().waitFor();
      const since = operator.life.position();
      await operator.world.rows(`UPDATE credentials SET last_error = 'written meanwhile' WHERE uuid = $1`, [
        uuid,
      ]);
      await page.getByText("written meanwhile").waitFor();
      expect(operator.life.entries(since).filter(({ direction }) => direction === "in")).toEqual([]);
      expect(await page.getByText("TEAPOT_URL").count()).toBeGreaterThan(0);
      expect(await page.getByText("where it was installed").count()).toBe(1);
      expect(problems).toEqual([]);
      await context.close();
    });

    it("keep selected text while a page updates itself", async () => {
      const { context, page } = await anOperator({ haste: 10 });
      await page.goto(`${operator.url()}/operator/resources/${uuid}`);
      const marked = () => page.evaluate("getSelection().toString()");
      await page.evaluate(`getSelection().selectAllChildren(document.querySelector("#record dd"))`);
      expect(await marked()).toBe(uuid);
      await operator.world.rows(`UPDATE credentials SET last_error = 'while marked' WHERE uuid = $1`, [uuid]);
      const isAskedAgain = () => page.waitForResponse(/\/operator\/resources\//);
      await isAskedAgain();
      await isAskedAgain();
      expect(await marked()).toBe(uuid);
      await page.evaluate("getSelection().removeAllRanges()");
      await page.getByText("while marked").waitFor();
      await context.close();
    });
  },
);

/** The contrast of an element's text with its background, as WCAG defines it. */
const CONTRAST = `(each) => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const { color, backgroundColor } = getComputedStyle(each);
  const page = numbers(getComputedStyle(document.documentElement).backgroundColor);
  const [red, green, blue, alpha = 1] = numbers(backgroundColor);
  const behind = [red, green, blue].map((value, index) => value * alpha + page[index] * (1 - alpha));
  const linear = (value) => (value <= 10.3 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const [dark, bright] = [light(behind), light(numbers(color))].sort((one, other) => one - other);
  return (bright + 0.05) / (dark + 0.05);
}`;

/** Counts how often something happens in an element. */
const WATCH = `(region) => {
  region.changes = 0;
  new MutationObserver(() => (region.changes += 1)).observe(region, { childList: true, subtree: true, characterData: true });
}`;
