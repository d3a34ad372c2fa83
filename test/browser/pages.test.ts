import type { Browser, Page } from "playwright-core";
import { h } from "preact";
import { freePort } from "../../packages/conformance/free-port.ts";
import type { CustomerPage } from "../../src/people/contract.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { aWorldOfAnOperator, aWorldOfOperators, PASSWORD } from "../operator/pages/operator.ts";
import { aWorldOfCustomers, type Form } from "../people/customers.ts";
import { aGate, aVendor } from "../support/a-vendor.ts";
import { aVisitor, chromiumPath, faultsOf, ON_A_PHONE, startChromium } from "../support/chromium.ts";
import { teapots } from "../support/teapots/index.ts";
import { opened } from "../support/world.ts";

// The service's pages with a real browser (Chromium; CHROMIUM_PATH names one), which applies cookies, redirects,
// policies and refreshes, and asks for passwords.

const inChromium = chromiumPath ? describe : describe.skip;
let browser: Browser;
beforeAll(async () => {
  if (chromiumPath) browser = await startChromium();
});
afterAll(() => browser?.close());

async function looksWell(page: Page, name: string): Promise<void> {
  expect(await faultsOf(page, name)).toEqual([]);
}

inChromium("a customer who comes from the platform's dashboard, which is another site,", () => {
  const DASHBOARD = "https://dashboard.example/";
  const run = async (_resource: unknown, form: URLSearchParams) => `Moved to ${form.get("host")}.`;
  const customerPage: CustomerPage = async (resource, page) => {
    const { title, content } = await teapots.customerPage(resource, page);
    const host = h("label", null, "Host", h("input", { name: "host" }));
    return { title, content: [content, page.form("move", [host, h("button", null, "Move it")])] };
  };
  const customers = opened(() => aWorldOfCustomers({ parts: { customerPage } }));
  let uuid: string;
  beforeAll(async () => {
    Object.assign(customers.life.vendor, { actions: { move: { run } } });
    uuid = await customers.life.settled();
  });

  it("sign-on, an action, what another may only look at, and sign-out", async () => {
    const { context, page, problems } = await aVisitor({ browser, bypassCSP: true, ...ON_A_PHONE });
    await fromDashboard(page, customers.signedForm(uuid, "newcomer@example.com"));
    await page.waitForURL(`${customers.url()}/customer/${uuid}`);
    expect(await page.textContent("body")).toMatch(/signed on as.*basic.*region us/s);
    expect(await page.getByRole("button", { name: "Move it" }).count()).toBe(0);
    await looksWell(page, "customer-may-look");
    await fromDashboard(page, customers.signedForm(uuid, "colleague@example.com"));
    await page.getByLabel("Host").fill("host two");
    await page.getByRole("button", { name: "Move it" }).click();
    await page.waitForURL(/sent=/);
    expect(await page.getByRole("status").textContent()).toBe("Moved to host two.");
    await looksWell(page, "customer-action");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${customers.url()}/customer/${uuid}`);
    expect(await context.cookies()).toEqual([]);
    expect(await page.textContent("h1")).toBe("You are not signed on");
    await looksWell(page, "not-signed-on");
    expect(problems).toEqual([]);
    await context.close();
  });

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
});

inChromium("operators with accounts", () => {
  const operators = opened(() => aWorldOfOperators("owner@example.com"));
  let uuid: string;
  beforeAll(async () => {
    // The platform sends people to the address that is registered, and nowhere else.
    const port = String(await freePort());
    const redirectUri = `http://localhost:${port}/oauth/callback`;
    const { id, secret } = operators.control.registerClient({ name: "Teapots", redirectUri });
    const settings = { OAUTH_CLIENT_ID: id, OAUTH_CLIENT_SECRET: secret!, PORT: port };
    Object.assign(operators.world.environment, settings);
    await operators.world.restart();
    uuid = await operators.world.settled();
  });

  it("refuse one account, let the person change it, sign in and sign out", async () => {
    const { context, page, problems } = await aVisitor({ browser, bypassCSP: true, ...ON_A_PHONE });
    const address = `${operators.url()}/operator/resources/${uuid}`;
    await page.goto(address);
    await looksWell(page, "ways-in");
    await page.getByRole("button", { name: "Sign in" }).click();
    await atPlatform(page, "newcomer@example.com");
    await page.waitForURL(address);
    expect(await page.textContent("h1")).toBe("Not for this account");
    await looksWell(page, "not-listed");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${operators.url()}/operator`);

    await page.goto(address);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Use another account" }).click();
    await atPlatform(page, "owner@example.com");
    await page.waitForURL(address);
    expect(await page.textContent("body > header")).toContain("owner@example.com");
    await looksWell(page, "signed-in");
    await page.evaluate(`document.querySelector(".signed-in span").textContent = "x".repeat(200)`);
    await looksWell(page, "signed-in-at-length");
    await page.goto(`${operators.url()}/operator/actions/999`);
    await looksWell(page, "signed-in-problem");
    await page.getByRole("link", { name: "Overview" }).click();
    await looksWell(page, "signed-in-overview");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    expect((await context.cookies()).map(({ name }) => name)).not.toContain("kit_session");
    expect(problems).toEqual([]);
    await context.close();
  });

  /** Signs in at the platform, where nobody has a password, and allows what is asked for. */
  async function atPlatform(page: Page, email: string): Promise<void> {
    await page.getByRole("button", { name: email }).click();
    await page.getByRole("button", { name: "Allow" }).click();
  }
});

inChromium("an operator with a password", () => {
  const jobs = [
    {
      name: "meter",
      at: "10 0 * * *",
      run: () => Promise.reject(new Error("503 from https://kilns.example.com")),
    },
    {
      name: "bill",
      at: "0 4 * * 1",
      timeZone: "Europe/Berlin",
      missed: "each" as const,
      run: async () => null,
    },
  ];
  /** Until then no refresh is sent. */
  let mayRefresh = Promise.resolve();
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    ...endpoint,
    refresh: (...given) => mayRefresh.then(() => endpoint.refresh(...given)),
  });
  const operator = opened(() =>
    aWorldOfAnOperator({
      environment: { LEGACY_GRANTS: "on" },
      parts: { vendor: Object.assign(aVendor(), { jobs }), wrapTokenEndpoint },
    }),
  );
  let uuid: string;
  beforeAll(async () => {
    uuid = await operator.life.settled();
    await operator.life.settled("premium");
    await operator.world.rows(
      `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state, name, app_name)
           SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned', 'teapots-' || name, 'app-' || name
           FROM unnest(ARRAY['quiet-31', 'amber-7']) AS name RETURNING uuid)
         INSERT INTO credentials (uuid, state, reason) SELECT uuid,
           (ARRAY['grant_lost', 'no_grant'])[row_number() OVER ()], (ARRAY['expired', NULL])[row_number() OVER ()] FROM made`,
    );
    // A function that fails for both, and a sale that was lost.
    await operator.world.rows(
      `INSERT INTO steps (uuid, kind, detail, attempts, last_error, due_at, created_at)
         SELECT uuid, 'change_plan', jsonb_build_object('plan', 'premium', 'dueSince', now() - interval '12 minutes'), 5,
           'The kiln is cold: 503 from https://kilns.example.com/v2/pots', now() + interval '1 hour', now() - interval '12 minutes'
         FROM resources WHERE name LIKE 'teapots-%-%' AND app_name IN ('app-quiet-31', 'app-amber-7')`,
    );
    await operator.world.rows(
      `INSERT INTO lost_sales (uuid, plan, name, region, request_id, at, reason)
         VALUES (gen_random_uuid(), 'premium', 'teapots-lost-7', 'eu', 'r1', now() - interval '3 hours', 'No space left on device')`,
    );
    await operator.world.rows(
      `WITH whole AS (
         INSERT INTO ledger_comparisons (ended_at, is_listed, checked, total, backend, notes)
         VALUES (now(), true, 4, 4, 4, '{1 line of the list named a uuid again.}') RETURNING id
       ), stopped AS (
         INSERT INTO ledger_comparisons (ended_at, is_listed, checked, total, next, faults)
         VALUES (now(), false, 2, 4, gen_random_uuid(), '{The platform gives no answers: 503.}')
       )
       INSERT INTO ledger_findings (uuid, kind, comparison, ours, theirs, detail)
       SELECT uuid, 'gone_at_platform', whole.id, 'provisioned', '404, not in the list', '{}'::jsonb FROM resources, whole WHERE name LIKE 'teapots-%-%'
       UNION ALL SELECT gen_random_uuid(), 'unknown_here', whole.id, NULL, 'in the list, and in your backend',
         '{"isUnseen": true, "installation": {"plan": "basic", "name": "teapots-lost-1", "app": {"name": "shop"}}}' FROM whole
       UNION ALL SELECT $1, 'config_differs', whole.id, 'TEAPOT_URL=deadbeef, TEAPOT_TOKEN=01234567', 'TEAPOT_URL=none, TEAPOT_TOKEN=76543210', '{}' FROM whole`,
      [uuid],
    );
  });

  const anOperator = (look = {}) =>
    aVisitor({ browser, httpCredentials: { username: "operator", password: PASSWORD }, ...look });

  it("show the overview and find a resource", async () => {
    const { context, page, problems } = await anOperator({ ...ON_A_PHONE, bypassCSP: true });
    const begun = (await operator.press(`/resources/${uuid}/refresh`)).location!;
    await operator.done("/jobs/meter/run-meter");
    for (const [name, path] of [
      ["overview", ""],
      ["resources", "/resources"],
      ["resources-found", "/resources?text=teapots&state=provisioned&plan=basic&sort=name"],
      ["resource", `/resources/${uuid}`],
      ["events", "/events"],
      ["events-of-one-type", "/events?type=failed&plan=basic"],
      ["jobs", "/jobs"],
      ["job", "/jobs/meter"],
      ["job-question", "/jobs/bill/run-bill"],
      ["ledgers", "/ledgers"],
      ["ledgers-question", "/ledgers/fix-gone_at_platform"],
      ["check-up", "/check-up"],
      ["audit", "/actions"],
      ["action", begun.replace("/operator", "")],
      ["push", `/resources/${uuid}/push`],
      ["secret", "/secret"],
      ["reseal", "/reseal"],
      ["problem", "/actions/999"],
    ] as const) {
      await page.goto(`${operator.url()}/operator${path}`);
      await looksWell(page, name);
    }
    await page.goto(`${operator.url()}/operator/resources`);
    await page.getByRole("searchbox").fill(uuid.slice(0, 13));
    await page.keyboard.press("Enter");
    await page.waitForURL(/text=/);
    expect(await page.locator("tbody tr").count()).toBe(1);
    expect(problems).toEqual([]);
    await context.close();
  });

  it("renew the overview where it stands, and say how old it is", async () => {
    const { context, page, problems } = await anOperator();
    // The page's clock stands still, however long this machine takes, and goes on by what is said here alone.
    await page.clock.install({ time: 0 });
    await page.clock.pauseAt(1_000);
    await page.goto(`${operator.url()}/operator`);
    const basic = page.locator("main").getByRole("link", { name: "basic", exact: true });
    await basic.focus();
    await operator.world.rows(`UPDATE lost_sales SET reason = 'The disk is full'`);
    await page.clock.fastForward(9_000);
    expect(await page.locator("[data-age]").textContent()).toBe("9 s ago");
    await page.clock.fastForward(7_000);
    await page.getByText("The disk is full").waitFor();
    expect(await page.locator("[data-age]").textContent()).toBe("now");
    expect(await basic.evaluate("document.activeElement.textContent")).toBe("basic");
    // While somebody copies something, it stays as it is.
    await page.getByText("The disk is full").selectText();
    await operator.world.rows(`UPDATE lost_sales SET reason = 'No space left on device'`);
    await page.clock.fastForward(16_000);
    expect(await page.getByText("The disk is full").count()).toBe(1);
    expect(problems).toEqual([]);
    await context.close();
  });

  it("allow an action with the keyboard alone, without JavaScript", async () => {
    const { context, page } = await anOperator({ javaScriptEnabled: false });
    await page.goto(`${operator.url()}/operator`);
    await page.getByRole("button", { name: "Give up all late work" }).first().focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/give-up-all$/);
    expect(await page.textContent("main")).toContain("2 resources, as of now.");
    await page.goto(`${operator.url()}/operator/resources/${uuid}`);
    await page.getByRole("button", { name: "Refresh its token" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/refresh$/);
    await page.getByRole("button", { name: "Refresh its token" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/operator\/actions\/\d+$/);
    // The page of an action that runs loads itself again.
    await page.getByText("1 refreshed,").first().waitFor();
    await page.goto(`${operator.url()}/operator/actions`);
    expect(await page.textContent("tbody tr")).toMatch(/refresh.*1 refreshed,/s);
    await context.close();
  });

  it("show the progress of an action, and its result as soon as it has ended", async () => {
    const { context, page, problems } = await anOperator();
    const gate = aGate();
    mayRefresh = gate.opened;
    await page.goto(`${operator.url()}/operator/refresh-all`);
    await page.getByRole("button", { name: "Refresh all tokens" }).click();
    await page.waitForURL(/\/operator\/actions\/\d+$/);
    expect(await page.getByRole("status").textContent()).toBe("running");
    gate.open();
    await page.getByText("2 refreshed,").waitFor();
    expect(await page.getByRole("status").textContent()).toMatch(/^done.*2 refreshed,/);
    expect(problems).toEqual([]);
    await context.close();
  });
});
