import { aBrowser } from "../people/browser.ts";
import { SALT, signed } from "../people/customers.ts";
import { kitJson } from "../support/kit.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfAnOperator } from "./pages/operator.ts";

// A notice of the operator's to all customers, and the operator's view of a customer's page.

const operator = opened(() =>
  aWorldOfAnOperator({ environment: { SSO_SALT: SALT }, sandbox: { ssoSalt: SALT } }),
);
let uuid: string;
beforeAll(async () => {
  uuid = await operator.life.settled();
});
beforeEach(() => operator.world.rows(`DELETE FROM notices`));

const kit = (words: string[], input = "") =>
  kitJson<{ notice: { text: string; until: string | null } | null; message: string; cleared: boolean }>(
    operator.world.environment,
    ["notice", ...words],
    input,
  );
let seconds = 0;
async function aCustomersPage(): Promise<() => Promise<string>> {
  const browser = aBrowser(operator.url);
  const { form } = operator.control.signOnForm(uuid, "owner@example.com");
  const timestamp = String(Number(form["timestamp"]) - (seconds += 1));
  await browser.post("/sso/login", {}, new URLSearchParams(signed({ ...form, timestamp })));
  return async () => (await browser.get(`/customer/${uuid}`)).text;
}
const soon = () => new Date(Date.now() + 3_600_000).toISOString();
const shows = (page: () => Promise<string>, words: string) =>
  eventually(async () => expect(await page()).toContain(words));
const lacks = (page: () => Promise<string>, words: string) =>
  eventually(async () => expect(await page()).not.toContain(words));

describe("a notice to all customers", () => {
  it("is on their page and on that of who signed out, until it is cleared; all is in the audit trail", async () => {
    const page = await aCustomersPage();
    const stranger = async () => (await aBrowser(operator.url).get(`/customer/${uuid}`)).text;
    const { code, data } = await kit(["set", "Our brokers are down until 10:00.", "--severity", "outage"]);
    expect([code, data.notice]).toEqual([0, expect.objectContaining({ until: null, severity: "outage" })]);
    for (const each of [page, stranger]) await shows(each, "<bdi>Our brokers are down until 10:00.</bdi>");
    expect(await page()).toContain(`<aside class="outage"`);
    expect((await kit(["show"])).data.notice).toMatchObject({ text: "Our brokers are down until 10:00." });
    expect((await kit(["clear"])).data).toEqual({ cleared: true });
    for (const each of [page, stranger]) await lacks(each, "Our brokers");
    expect(await kit(["clear"])).toMatchObject({ code: 1, data: { cleared: false } });
    expect((await kit(["show"])).data).toEqual({ notice: null });
    const [set, cleared] = (await operator.audit()).slice(-3);
    expect(set).toMatchObject({ state: "done", message: expect.stringContaining("Our brokers are down") });
    expect(cleared).toMatchObject({ action: "kit notice clear", state: "done" });
  });

  it("ends by itself at its time, by the database's clock", async () => {
    const page = await aCustomersPage();
    await kit(["set", "Slow today.", "--until", soon()]);
    await shows(page, "Slow today.");
    await operator.world.rows(`UPDATE notices SET until = now()`);
    await lacks(page, "Slow today.");
    expect((await kit(["show"])).data).toEqual({ notice: null });
  });

  it("takes the place of the one before, and may come on standard input in several lines", async () => {
    await kit(["set", "One"]);
    await kit(["set"], "Two\nlines\n");
    expect((await kit(["show"])).data.notice).toMatchObject({ text: "Two lines" });
    expect(await operator.world.rows(`SELECT 1 FROM notices`)).toHaveLength(1);
  });

  it.each<[string, string[], string]>([
    ["nothing", [" \n"], "has no text"],
    ["10 kB", ["x".repeat(10_000)], "has 10000 characters; at most 500"],
    ["an override of the direction", ["down \u202e00:01 litnu"], "down \\u202e00:01 litnu"],
    ["control marks", ["down \u0007\u001b[2J"], "down \\u0007\\u001b[2J"],
    ["a space without width", ["do\u200bwn"], "do\\u200bwn"],
    ["a time in the past", ["down", "--until", "2020-01-01T00:00Z"], "which is in the past"],
    ["a time without a zone", ["down", "--until", "2030-01-01T10:00"], "has no time zone: write it as"],
    ["a day that there is not", ["down", "--until", "2030-02-30T10:00Z"], "is not in the calendar"],
    ["an hour that there is not", ["down", "--until", "2030-02-20T31:00+01:00"], "is not in the calendar"],
    ["words for a time", ["down", "--until", "tomorrow"], "is not a time"],
    ["another severity", ["down", "--severity", "apocalypse"], "Use one of info, warning, outage"],
  ])("of %s is refused, and nothing is shown", async (_what, words, why) => {
    const { code, data } = await kit(["set", ...words]);
    expect([code, data.message]).toEqual([2, expect.stringContaining(why)]);
    expect(await operator.world.rows(`SELECT 1 FROM notices`)).toEqual([]);
  });

  it("of HTML is shown as it was written, also one that came into the table by another way", async () => {
    const page = await aCustomersPage();
    await kit(["set", "<b>down</b> & out"]);
    await shows(page, "&lt;b>down&lt;/b> &amp; out");
    await operator.world.rows(`UPDATE notices SET text = E'down \\u202e now'`);
    await shows(page, "down \\u202e now");
  });

  it("is set and taken away on the operator's pages", async () => {
    const until = soon().slice(0, 16);
    const fields: [string, string][] = [["text", "Back soon."], ["until", until], ["severity", "warning"]]; // prettier-ignore
    const { text } = await operator.done("/notice", fields);
    expect(text).toContain(`Shown to all customers as warning, until ${until.replace("T", " ")}:00 UTC`);
    const page = await aCustomersPage();
    await shows(page, "Back soon.");
    expect((await operator.get("/notice-clear")).text).toContain("Back soon.");
    await operator.done("/notice-clear");
    await lacks(page, "Back soon.");
    expect((await operator.get("/notice-clear")).text).toContain("Customers see no notice now.");
    const refused = await operator.press("/notice", [["text", "x".repeat(501)]]);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("at most 500")]);
    const foreign = await operator.post("/notice", [["text", "Forged."]]);
    expect(foreign.status).toBe(403);
  });
});

describe("the operator's view of a customer's page", () => {
  it("shows what the customer sees, marked, with nothing that could be sent, and is in the audit trail", async () => {
    await kit(["set", "Slow today."]);
    const { html } = await operator.get(`/resources/${uuid}`);
    expect(html).toContain(`href="/operator/resources/${uuid}/customer"`);
    const view = await operator.get(`/resources/${uuid}/customer`);
    expect(view.status).toBe(200);
    for (const shown of ["Read only", "What the customer sees", "basic: A teapot for one", "Slow today."])
      expect(view.text).toContain(shown);
    expect(view.html).toContain("<fieldset disabled>");
    expect(view.html).not.toMatch(/method="post"|kit-token/);
    expect(view.headers.get("content-security-policy")).toContain("form-action 'none'");
    expect((await operator.audit()).at(-1)).toMatchObject({ action: "customer-page", uuid, state: "done" });
    expect(await operator.world.rows(`SELECT 1 FROM customer_sessions WHERE email IS NULL`)).toEqual([]);
  });

  it("is none of a resource that has ended, or that there is not", async () => {
    const ended = await operator.life.settled();
    await operator.control.deprovision(ended);
    expect((await operator.get(`/resources/${ended}/customer`)).status).toBe(409);
    const nobody = "01234567-89ab-4def-8123-456789abcdef";
    expect((await operator.get(`/resources/${nobody}/customer`)).status).toBe(404);
  });
});
