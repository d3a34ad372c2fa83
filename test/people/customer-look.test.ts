import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import { type Amount, amountInWords } from "../../src/amounts.ts";
import { contrast } from "../../src/pages/contrast.ts";
import { BACKGROUNDS } from "../../src/pages/palette.ts";
import { PlanCard, Sparkline, Usage } from "../../src/parts/cards.tsx";
import { type Brand, createBrand } from "../../src/people/brand.ts";
import type { CustomerAction, CustomerPage } from "../../src/people/contract.ts";
import { wayBack } from "../../src/people/frame.tsx";
import { aVendor } from "../support/a-vendor.ts";
import { opened } from "../support/world.ts";
import { hiddenIn } from "./browser.ts";
import { aWorldOfCustomers } from "./customers.ts";

// What surrounds the vendor's page of a customer, and what it can be made of.

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1"/></svg>`;
const brand: Brand = {
  name: "Pots & pans",
  logo: SVG,
  colour: "#ffd400",
  links: [{ label: "Support", href: "mailto:help@pots.example" }],
};
const emptied: string[] = [];
const empty: CustomerAction = {
  run: async (_resource, form) => `Emptied ${emptied.push(form.getAll("cup").join("+"))} times.`,
  confirm: { question: "All tea is lost, for good.", button: "Empty it" },
};
const offer = {
  plans: { basic: { description: "For one", includes: { storage: { bytes: 10e9 }, connections: 1_000 } } },
  defaultPlan: "basic",
  ephemeralPlan: "basic",
  regions: ["us"],
  configVars: ["TEAPOT_URL", "TEAPOT_TOKEN"],
};
const customerPage: CustomerPage<"empty"> = (resource, { form, dashboard }) => ({
  title: "A teapot",
  content: [
    h(PlanCard, { offer, resource, dashboard }),
    h(Usage, { name: "Storage", used: { bytes: 9e9 }, of: { bytes: 10e9 } }),
    form("empty", [h("input", { name: "cup", value: "<a>" }), h("button", null, "Empty it…")]),
  ],
});

const customers = opened(() =>
  aWorldOfCustomers({
    environment: { DASHBOARD_URL: "https://dashboard.example/apps/{app}" },
    parts: { offer, customerPage, vendor: Object.assign(aVendor(), { brand, actions: { empty } }) },
  }),
);

async function aCustomer(user = "owner@example.com", known?: string) {
  const uuid = known ?? (await customers.life.settled());
  const browser = customers.browser();
  await customers.signOn(browser, customers.signedForm(uuid, user));
  const page = () => browser.get(`/customer/${uuid}`);
  const send = (fields: [string, string][]) =>
    browser.post(
      `/customer/${uuid}/actions/empty`,
      { "sec-fetch-site": "same-origin" },
      new URLSearchParams(fields),
    );
  return { uuid, browser, page, send };
}

describe("the page of a customer", () => {
  it("has brand, plan with what it includes, use, links and the way back to the app on the dashboard", async () => {
    const { uuid, page } = await aCustomer();
    const { text } = await page();
    const app = customers.control.addon(uuid).app.name;
    for (const shown of [
      "<strong>Pots &amp; pans</strong>",
      `<img src="data:image/svg+xml,${encodeURIComponent(SVG)}"`,
      "<dt>Storage</dt><dd>10 GB</dd>",
      "<dt>Connections</dt><dd>1,000</dd>",
      "9 GB of 10 GB, 90 %",
      `<a class="way-back" href="https://dashboard.example/apps/${app}">`,
      `<a href="mailto:help@pots.example">Support</a>`,
    ])
      expect(text).toContain(shown);
  });

  it("loads the brand's stylesheet, which has a shade of its colour that can be read", async () => {
    const { browser, page } = await aCustomer();
    const [, address] = /href="(\/assets\/customer\.css\?v=[^"]+)"/.exec((await page()).text)!;
    const { status, headers, text } = await browser.get(address!);
    expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
    expect(text).toContain("--pico-primary-background: #ffd400;");
    expect(text).toContain("--pico-primary-inverse: #000000;");
  });

  it("without a known app leads to the dashboard itself, and to none if no setting names it", () => {
    const at = (dashboardUrl?: string) => wayBack({ config: { dashboardUrl } } as never, null);
    expect(at("https://dashboard.example/apps/{app}")).toBe("https://dashboard.example");
    expect(at("https://dashboard.example/home")).toBe("https://dashboard.example/home");
    expect(at()).toBeNull();
  });
});

describe("an action that destroys", () => {
  it("asks first, with what was filled in, and is done once after that", async () => {
    const { uuid, browser, page, send } = await aCustomer();
    const first = hiddenIn((await page()).text);
    const question = await send([...first, ["cup", "Åbo"], ["cup", "b"]]);
    expect(question.status).toBe(200);
    expect(question.text).toContain("All tea is lost, for good.");
    expect(question.text).toContain(`<a href="/customer/${uuid}">Leave it as it is</a>`);
    expect(emptied).toEqual([]);
    const confirmed = hiddenIn(question.text);
    const { location } = await send(confirmed);
    expect((await send(confirmed)).location).toBe(location);
    expect((await browser.get(location!)).text).toContain("Emptied 1 times.");
    expect(emptied).toEqual(["Åbo+b"]);
  });

  it("is not done by a form of the page that says it was confirmed, nor by another person's confirmation", async () => {
    emptied.length = 0;
    const one = await aCustomer();
    const other = await aCustomer("colleague@example.com", one.uuid);
    const first = hiddenIn((await one.page()).text);
    expect((await one.send([...first, ["confirmed", "yes"]])).status).toBe(200);
    const confirmed = hiddenIn((await one.send(first)).text);
    expect((await other.send(confirmed)).status).toBe(403);
    expect(emptied).toEqual([]);
  });
});

it.each<[Amount, string]>([
  [1_000, "1,000"],
  [Infinity, "unlimited"],
  ["by e-mail", "by e-mail"],
  [{ bytes: 512 }, "512 bytes"],
  [{ bytes: 999_999 }, "1 MB"],
  [{ bytes: 1.5e9 }, "1.5 GB"],
  [{ bytes: 20e9, per: "month" }, "20 GB a month"],
  [{ count: 100_000, per: "hour" }, "100,000 an hour"],
  [{ bytes: Infinity }, "unlimited"],
  [{ seconds: 14 * 86_400 }, "14 days"],
  [{ seconds: 5_400 }, "90 minutes"],
])("the amount %j reads %s", (amount, words) => expect(amountInWords(amount)).toBe(words));

describe("a sparkline", () => {
  const drawn = (values: (readonly [string, Amount | null])[], empty?: string) =>
    renderToString(h(Sparkline, { title: "Cups <a day>", values, ...(empty !== undefined && { empty }) }));

  it("has a name with what it shows, a line for each run of numbers, and nothing that runs", () => {
    const html = drawn([["1 Nov", 20], ["2 Nov", 1_000], ["3 Nov", null], ["4 Nov", 5], ["5 Nov", 40]]); // prettier-ignore
    expect(html).toContain(
      'role="img" aria-label="Cups &lt;a day>, 1 Nov to 5 Nov: at least 5, at most 1,000 (2 Nov), 40 at last."',
    );
    expect([...html.matchAll(/<polyline points="([^"]*)"/g)].map(([, points]) => points)).toEqual([
      "4,35.4 62,4",
      "178,35.8 236,34.7",
    ]);
    expect(html).not.toMatch(/<script|style=|on\w+=/);
  });

  it("has a line within its picture, whatever the numbers are", () => {
    for (const numbers of [
      [0, 0],
      [-5, 5],
      [-5, -3],
      [1e12, 1e-9],
      [NaN, 1, Infinity, 2],
    ]) {
      const html = drawn(numbers.map((number, at) => [`${at}`, number] as const));
      const places = [...html.matchAll(/points="([^"]*)"/g)].flatMap(([, points]) => points!.split(/[ ,]/));
      expect(places.map(Number).every((place) => place >= 0 && place <= 240)).toBe(true);
    }
  });

  it("is a sentence, or nothing, where there are not two numbers", () => {
    expect(drawn([["1 Nov", 3], ["2 Nov", null]])).toBe("<p>Nothing yet.</p>"); // prettier-ignore
    expect(drawn([], "")).toBe("");
  });
});

it("links and buttons can be read in whatever colour a brand has, in the light and in the dark", () => {
  for (const colour of [
    "#ffffff",
    "#000000",
    "#ffd400",
    "#0b6b62",
    "#ff0000",
    "#777777",
    "#2a55c9",
    "#00ff00",
  ]) {
    const rules = [
      ...cssOf(colour).matchAll(
        /--pico-primary: (#\w+);.*?-background: (#\w+);.*?-hover-background: (#\w+);.*?-inverse: (#\w+);/g,
      ),
    ];
    expect(rules).toHaveLength(2);
    (["light", "dark"] as const).forEach((look, at) => {
      const [, link, button, hover, words] = rules[at]!;
      const ratios = [
        ...BACKGROUNDS[look].map((background) => contrast(link!, background)),
        contrast(words!, button!),
        contrast(words!, hover!),
      ];
      expect([colour, look, Math.min(...ratios) >= 4.5]).toEqual([colour, look, true]);
    });
  }
});

function cssOf(colour: string): string {
  let text = "";
  const answer = { set: () => answer, send: (bytes: Buffer) => (text = bytes.toString()) };
  createBrand("teapots", { colour }).stylesheet.send({ query: {} } as never, answer as never);
  return text.slice(text.lastIndexOf(".customer:not(", text.lastIndexOf("@media")));
}

it.each<[string, Brand, string]>([
  ["a colour by name", { colour: "red" }, "write it as #rrggbb"],
  ["a rule in a colour", { colour: "#fff; } body { display: none" }, "write it as #rrggbb"],
  ["a logo elsewhere", { logo: "https://cdn.example/logo.png" }, "logo must be"],
  ["a logo that browsers show nothing of", { logo: "<svg></svg>" }, "xmlns"],
  ["a large logo", { logo: SVG + " ".repeat(40_000) }, "at most 32768"],
  ["a script in a link", { links: [{ label: "x", href: "javascript:alert(1)" }] }, "https:// or mailto:"],
  ["an empty name", { name: " " }, "name must not be empty"],
])("a brand with %s ends the start", (_what, wrong, words) => {
  expect(() => createBrand("teapots", wrong)).toThrow(words);
});
