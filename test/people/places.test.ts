import { h } from "preact";
import { Refusal } from "../../src/errors.ts";
import { checkExtensions } from "../../src/extend/check.ts";
import type { Extensions } from "../../src/extend/contract.ts";
import type { Offer } from "../../src/offer.ts";
import { csv } from "../../src/parts/csv.ts";
import type {
  CustomerAction,
  CustomerPage,
  CustomerPerson,
  CustomerTools,
} from "../../src/people/contract.ts";
import { aVendor } from "../support/a-vendor.ts";
import { eventually, opened } from "../support/world.ts";
import { hiddenIn } from "./browser.ts";
import { aWorldOfCustomers } from "./customers.ts";

// Further pages of a customer, and files.

const PASSWORD = "a-password-of-the-operator";

type Place =
  "usage" | "message" | "owners" | "broken" | "usage.csv" | "owners.csv" | "stream.txt" | "fails.txt";

const moved: string[] = [];
const run: CustomerAction["run"] = async (_resource, form) =>
  `Moved ${moved.push(form.get("to") ?? "")} times.`;
const actions: Record<"move" | "empty", CustomerAction> = {
  move: { run },
  empty: { run, confirm: { question: "All tea is lost.", button: "Empty it" } },
};

type Tools = CustomerTools<"move" | "empty", Place>;
const Links = ({ page: { link } }: { page: Tools }) =>
  h("p", null, link("usage", "Usage", { day: "1 & 2" }), link("owners", "Owners"), link("usage.csv", "Save"));
const isOwner = ({ role }: CustomerPerson) => role === "owner";

const customerPage: CustomerPage<Offer, "move" | "empty", Place> = (resource, page) => ({
  title: "The first page",
  content: [h(Links, { page }), resource.uuid],
});
const pages: Extensions["pages"] = {
  usage: {
    title: "Usage",
    render: (resource, { query, form, link }) => [
      h("p", null, `${resource.uuid} asked for `, JSON.stringify(query)),
      form("move", h("button", null, "Move")),
      form("empty", h("button", null, "Empty")),
      link("overview", "Back"),
      link("uasge", "left out"),
    ],
  },
  message: {
    title: "A message",
    isUnlisted: true,
    async render(_resource, { query }) {
      if (query["id"] !== "7") throw new Refusal(`There is no message <${query["id"]}>.`, { status: 404 });
      return "The seventh message.";
    },
  },
  owners: { title: "For owners", render: () => "Owners read this.", may: isOwner },
  broken: {
    title: "Broken",
    isUnlisted: true,
    render() {
      throw new Error("no kettle's password");
    },
  },
};

/** What the download of a stream does after its first piece. */
let goOn: (signal: AbortSignal) => Promise<string> = async () => "second";
let signals: AbortSignal[] = [];
let made = 0;
const downloads: Extensions["downloads"] = {
  "usage.csv": {
    async content({ uuid }, { query, person }) {
      made += 1;
      return csv(["Queue", "Day", "By"], [[uuid, query["day"] ?? null, person.email]]);
    },
  },
  "owners.csv": { content: () => "for owners", may: isOwner },
  "stream.txt": {
    async *content(_resource, { signal }) {
      signals.push(signal);
      yield "first ";
      yield Buffer.from(await goOn(signal));
    },
  },
  "fails.txt": {
    async content(_resource, { query }) {
      if (query["why"]) throw new Refusal("Not on a Sunday.", { status: 409 });
      throw new Error("no kettle's password");
    },
  },
};

const customers = opened(() =>
  aWorldOfCustomers({
    environment: { OPERATOR_PASSWORD: PASSWORD },
    parts: { customerPage, vendor: Object.assign(aVendor(), { actions, pages, downloads }) },
  }),
);
let uuids: string[];
beforeAll(async () => {
  uuids = await customers.world.installed(3);
});
beforeEach(() => {
  made = 0;
  signals = [];
  moved.length = 0;
});

const known = new Map<string, Promise<Customer>>();
type Customer = Awaited<ReturnType<typeof signedOn>>;

/** Signs on once for each person and resource: two sign-ons in one second may be equal. */
function aCustomer(user = "owner@example.com", uuid = uuids[0]!): Promise<Customer> {
  const key = `${user} ${uuid}`;
  return known.get(key) ?? known.set(key, signedOn(user, uuid)).get(key)!;
}

async function signedOn(user: string, uuid: string) {
  const browser = customers.browser();
  await customers.signOn(browser, customers.signedForm(uuid, user));
  const cookie = [...browser.cookies].map(([name, { value }]) => `${name}=${value}`).join("; ");
  return { uuid, browser, cookie, page: (path = "") => browser.get(`/customer/${uuid}${path}`) };
}

describe("a further page", () => {
  it("is reached by a link and by the menu, which marks it; an unlisted one stands in no menu", async () => {
    const { uuid, page } = await aCustomer();
    const first = (await page()).text;
    expect(first).toContain(`<a href="/customer/${uuid}/pages/usage?day=1+%26+2">Usage</a>`);
    expect(first).toContain(`<a href="/customer/${uuid}" aria-current="page">Overview</a>`);
    const { status, text } = await page("/pages/usage?day=1+%26+2");
    expect(status).toBe(200);
    expect(text).toContain("<h1>Usage</h1>");
    expect(text).toContain(`${uuid} asked for {&quot;day&quot;:&quot;1 &amp; 2&quot;}`);
    expect(text).toContain(`<a href="/customer/${uuid}/pages/usage" aria-current="page">Usage</a>`);
    expect(text).toContain(`<a href="/customer/${uuid}">Back</a>`);
    expect(text).not.toContain("A message");
    expect((await page("/pages/message?id=7")).text).toContain("The seventh message.");
  });

  it("leaves out a link to a place that there is not, and logs its name", async () => {
    const { uuid, page } = await aCustomer();
    expect((await page("/pages/usage")).text).not.toContain("left out");
    expect(customers.world.lines(`a link to \\"uasge\\"`, uuid)).not.toEqual([]);
  });

  it.each<[string, string, object]>([
    ["more than twenty", Array.from({ length: 30 }, (_, at) => `p${at}=${at}`).join("&"), Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`p${at}`, `${at}`]))],
    ["the first of several", "day=1&day=2", { day: "1" }],
    ["too long, or with control characters", `a=${"x".repeat(501)}&b=${"x".repeat(500)}&c=%00&${"n".repeat(61)}=1`, { b: "x".repeat(500) }],
    ["names of an object's members", "toString=1&__proto__=2", { toString: "1", ["__proto__"]: "2" }],
    ["what is not well formed", "a=%ff&b=%", { a: "\ufffd", b: "%" }],
    ["marks that turn others round", "a=%E2%80%AEx", { a: "\\u202ex" }],
    ["the kit's own", "sent=abc&day=1", { day: "1" }],
  ])("has parameters within bounds: %s", async (_what, search, query) => {
    const { page } = await aCustomer();
    const { text } = await page(`/pages/usage?${search}`);
    const [, json] = /asked for (\{.*?\})</.exec(text)!;
    expect(JSON.parse(json!.replaceAll("&quot;", '"'))).toEqual(JSON.parse(JSON.stringify(query)));
  }); // prettier-ignore

  it.each([
    ["that there is not", "/pages/uasge", 404, "There is nothing here"],
    ["with the name of an object's member", "/pages/constructor", 404, "There is nothing here"],
    ["with a dot segment", "/pages/..%2f..%2foperator", 404, "There is nothing here"],
    ["that refuses", "/pages/message?id=8", 404, "There is no message &lt;8>."],
    ["that fails", "/pages/broken", 500, "This is a fault of the service"],
  ])("%s is answered in the frame, with the menu", async (_what, path, status, words) => {
    const { uuid, page } = await aCustomer();
    const answer = await page(path);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    expect(answer.text).toContain(`<a href="/customer/${uuid}">Overview</a>`);
    expect(answer.text).toContain("Sign out");
    expect(answer.text).not.toContain("password");
  });

  it("that is for owners is in nobody else's menu, links and reach", async () => {
    const owner = await aCustomer();
    const colleague = await aCustomer("colleague@example.com");
    expect((await owner.page()).text.match(/pages\/owners/g)).toHaveLength(2);
    expect((await owner.page("/pages/owners")).text).toContain("Owners read this.");
    expect((await colleague.page()).text).not.toContain("pages/owners");
    const refused = await colleague.page("/pages/owners");
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining("This is not for everybody"),
    ]);
    expect((await colleague.page("/downloads/owners.csv")).status).toBe(403);
    expect((await owner.page("/downloads/owners.csv")).text).toBe("for owners");
  });

  it.each([
    ["at once", "move", false],
    ["after its question", "empty", true],
  ])("has forms that lead back to it, with its parameters: %s", async (_when, name, asks) => {
    const { uuid, browser, page } = await aCustomer();
    const shown = await page("/pages/usage?day=1+%26+2");
    const at = shown.text.indexOf(`actions/${name}`);
    const action = /action="([^"]+)"/.exec(shown.text.slice(shown.text.lastIndexOf("<form", at)))![1]!;
    const press = (address: string, fields: [string, string][]) =>
      browser.post(
        address.replaceAll("&amp;", "&"),
        { "sec-fetch-site": "same-origin" },
        new URLSearchParams(fields),
      );
    const fields = hiddenIn(shown.text.slice(at)).slice(0, 1);
    let answer = await press(action, fields);
    if (asks) {
      expect(answer.text).toContain(
        `<a href="/customer/${uuid}/pages/usage?day=1+%26+2">Leave it as it is</a>`,
      );
      answer = await press(
        /<form method="post" action="([^"]+actions[^"]+)"/.exec(answer.text)![1]!,
        hiddenIn(answer.text),
      );
    }
    expect(answer.status).toBe(303);
    expect(answer.location).toMatch(
      new RegExp(`^/customer/${uuid}/pages/usage\\?day=1\\+%26\\+2&sent=[\\w-]{16}$`),
    );
    const after = await browser.get(answer.location!);
    expect(after.text).toContain("Moved 1 times.");
    expect(after.text).toContain("{&quot;day&quot;:&quot;1 &amp; 2&quot;}");
    expect(moved).toHaveLength(1);
  });

  it("is shown to an operator, whose links stay in the operator's view and load no files", async () => {
    const [, , uuid] = uuids;
    const operator = customers.browser({ authorization: `Basic ${btoa(`operator:${PASSWORD}`)}` });
    const view = `/operator/resources/${uuid}/customer`;
    const { status, text } = await operator.get(view);
    expect([status, text]).toEqual([
      200,
      expect.stringContaining(`<a href="${view}/pages/usage?day=1+%26+2">`),
    ]);
    expect(text).toContain("<span>Save</span>");
    expect((await operator.get(`${view}/pages/usage?day=3`)).text).toContain("&quot;3&quot;");
    expect((await operator.get(`${view}/pages/uasge`)).status).toBe(404);
    expect((await operator.get(`${view}/downloads/usage.csv`)).status).toBe(404);
  });
});

describe("a download", () => {
  it("is a file for whoever is signed on, which no cache keeps and no page shows", async () => {
    const { uuid, page } = await aCustomer();
    const { status, headers, text } = await page("/downloads/usage.csv?day=%3DHYPERLINK(1)");
    expect([status, text]).toEqual([200, `Queue,Day,By\r\n${uuid},"'=HYPERLINK(1)",owner@example.com\r\n`]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename=usage.csv`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
  });

  it("comes in pieces as they are made", async () => {
    const { page } = await aCustomer();
    goOn = async () => "second";
    expect((await page("/downloads/stream.txt")).text).toBe("first second");
  });

  it("is not made for HEAD", async () => {
    const { uuid, cookie } = await aCustomer();
    const address = `${customers.url()}/customer/${uuid}/downloads/usage.csv`;
    const { status, headers } = await fetch(address, { method: "HEAD", headers: { cookie } });
    expect([status, headers.get("content-disposition"), made]).toEqual([
      200,
      `attachment; filename=usage.csv`,
      0,
    ]);
    expect((await fetch(address, { method: "POST", headers: { cookie } })).status).toBe(405);
  });

  it("whose customer leaves is aborted; it is nobody's error", async () => {
    const { uuid, cookie } = await aCustomer();
    goOn = (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    const leaving = new AbortController();
    const address = `${customers.url()}/customer/${uuid}/downloads/stream.txt`;
    const { body } = await fetch(address, { headers: { cookie }, signal: leaving.signal });
    await body!.getReader().read();
    leaving.abort();
    await eventually(() => signals.at(-1)?.aborted === true);
    expect(customers.world.lines('"level":"error"', "Nobody waits")).toEqual([]);
  });

  it.each([
    ["fails", "/downloads/fails.txt", 500, "Something went wrong here"],
    ["is refused", "/downloads/fails.txt?why=1", 409, "Not on a Sunday."],
    ["is not there", "/downloads/usage.xls", 404, "There is nothing here"],
    ["has the name of an object's member", "/downloads/__proto__", 404, "There is nothing here"],
  ])("that %s is a page, and no file", async (_what, path, status, words) => {
    const { page } = await aCustomer();
    const { headers, ...answer } = await page(path);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    expect([headers.get("content-disposition"), headers.get("content-type")]).toEqual([
      null,
      "text/html; charset=utf-8",
    ]);
    expect(answer.text).not.toContain("password");
  });

  it("that fails on its way is cut off, so that nobody takes it for whole", async () => {
    const { page } = await aCustomer();
    goOn = () => Promise.reject(new Error("the kettle burst"));
    await expect(page("/downloads/stream.txt")).rejects.toThrow();
    await eventually(() => customers.world.lines('"level":"error"', "the kettle burst").length > 0);
  });

  const get = async (path: string, cookie: string) =>
    (await fetch(customers.url() + path, { headers: { cookie } })).status;
  it.each<[string, () => Promise<string>]>([
    [
      "another resource's customer",
      async () => {
        const { cookie } = await aCustomer("owner@example.com", uuids[1]);
        return cookie.replaceAll(uuids[1]!, uuids[0]!);
      },
    ],
    ["a stranger", async () => ""],
    [
      "somebody who has signed out",
      async () => {
        const { uuid, browser, cookie } = await aCustomer("leaver@example.com");
        expect(await get(`/customer/${uuid}/downloads/usage.csv`, cookie)).toBe(200);
        await browser.post(`/customer/${uuid}/sign-out`, { "sec-fetch-site": "same-origin" });
        return cookie;
      },
    ],
  ])("and a further page are not for %s", async (_who, cookieOf) => {
    const cookie = await cookieOf();
    made = 0;
    for (const path of ["downloads/usage.csv", "downloads/nothing.csv", "pages/usage", "pages/nothing"])
      expect(await get(`/customer/${uuids[0]}/${path}`, cookie)).toBe(401);
    expect(made).toBe(0);
  });
});

it.each<[unknown, string]>([
  ["=1+1", `"'=1+1"`],
  ["-2", `"'-2"`],
  [" @SUM(A1)", `"' @SUM(A1)"`],
  ["＝1", `"'＝1"`],
  ["\tx", `"'\tx"`],
  [-2, "-2"],
  ["plain words, 2", `"plain words, 2"`],
  ["plain", "plain"],
  [`say "a, b"`, `"say ""a, b"""`],
  ["two\nlines", `"two\nlines"`],
  [new Date(0), "1970-01-01T00:00:00.000Z"],
  [null, ""],
  [true, "true"],
  [12n, "12"],
])("the cell %p of a CSV is written %s", (cell, written) => {
  expect(csv(["x"], [[cell as string]])).toBe(`x\r\n${written}\r\n`);
});

it.each<[string, Extensions, string]>([
  [
    "a page that is named like the first one",
    { pages: { overview: pages!["usage"]! } },
    'the page "overview"',
  ],
  ["a page whose name is no word of a path", { pages: { "a/b": pages!["usage"]! } }, 'the page "a/b"'],
  ["a page without a title", { pages: { a: { render: () => "" } as never } }, "title of the page a must be"],
  ["a page that renders nothing", { pages: { a: { title: "A" } as never } }, "render of the page a must be"],
  [
    "a download without an ending",
    { downloads: { usage: downloads!["usage.csv"]! } },
    'the download "usage"',
  ],
  [
    "a download in another folder",
    { downloads: { "../a.csv": downloads!["usage.csv"]! } },
    'the download "../a.csv"',
  ],
  [
    "a download without content",
    { downloads: { "a.csv": {} as never } },
    "content of the download a.csv must be",
  ],
])("%s ends the start", (_what, wrong, words) => {
  expect(() => checkExtensions(wrong)).toThrow(words);
});
