import { h } from "preact";
import { Refusal } from "../../src/errors.ts";
import type { Extensions, Kit } from "../../src/extend/contract.ts";
import type { CustomerAction, CustomerPage } from "../../src/people/contract.ts";
import { attachedAsIn, nameInApp, withNamesInApp } from "../../src/resources/names-in-app.ts";
import { PASSWORD } from "../operator/pages/operator.ts";
import { hiddenIn } from "../people/browser.ts";
import { aWorldOfCustomers } from "../people/customers.ts";
import { aVendor, type Vendor } from "../support/a-vendor.ts";
import { kit } from "../support/kit.ts";
import { offer as teapots } from "../support/teapots/plans.ts";
import { eventually, opened } from "../support/world.ts";

// Config vars that are public, and the names that apps have for config vars where an add-on is attached under another name.

const offer = { ...teapots, publicConfigVars: ["TEAPOT_URL"] };
const said: CustomerAction["run"][] = [];
const actions = { pour: { run: (...asked) => said.shift()!(...asked) } satisfies CustomerAction };
const customerPage: CustomerPage<"pour"> = ({ configVars, progress }, { form }) => ({
  title: "A teapot",
  content: [
    h("p", null, JSON.stringify(configVars)),
    h("p", null, `progress: ${progress}`),
    form("pour", h("button", null, "Pour")),
  ],
});
const customers = opened(() =>
  aWorldOfCustomers({
    parts: { offer, customerPage, vendor: (given) => ((kitOfVendor = given), vendor) },
    environment: { OPERATOR_PASSWORD: PASSWORD },
  }),
);
const vendor: Vendor & Extensions = aVendor();
let kitOfVendor: Kit;
/** Attached as EVENTS, and under the usual name. */
let renamed: string;
let usual: string;
beforeAll(async () => {
  Object.assign(vendor, { actions });
  const install = async (as?: string) => {
    const app = customers.control.createApp({}).name;
    return (await customers.control.install({ app, plan: "basic", ...(as && { as }) })).addon.id;
  };
  [renamed, usual] = [await install("EVENTS"), await install()];
  await customers.world.quiet([renamed, usual]);
});
const run = async (...words: string[]) =>
  (await kit(customers.world.environment, ["config", ...words], "", { offer })).stdout;
const tokenOf = (uuid: string) => {
  const vars = customers.life.varsAt(uuid);
  return vars["TEAPOT_TOKEN"] ?? vars["EVENTS_TOKEN"]!;
};

const signedOn = new Map<string, ReturnType<typeof customers.browser>>();
async function customerOf(uuid: string) {
  if (!signedOn.has(uuid)) {
    const browser = customers.browser();
    await customers.signOn(browser, customers.signedForm(uuid, "owner@example.com"));
    signedOn.set(uuid, browser);
  }
  return signedOn.get(uuid)!;
}
/** The text of the page, and the config vars on it. */
async function pageOf(uuid: string) {
  const { text } = await (await customerOf(uuid)).get(`/customer/${uuid}`);
  const [, vars] = /<p>(\{.*?\})<\/p>/.exec(text)!;
  return { text, vars: JSON.parse(vars!.replaceAll("&quot;", '"')) as Record<string, object> };
}
async function pressed(uuid: string, work: CustomerAction["run"]): Promise<string> {
  said.push(work);
  const browser = await customerOf(uuid);
  const fields = new URLSearchParams(hiddenIn((await pageOf(uuid)).text));
  const { location } = await browser.post(
    `/customer/${uuid}/actions/pour`,
    { "sec-fetch-site": "same-origin" },
    fields,
  );
  return (await browser.get(location!)).text;
}

describe("an add-on that is attached under another name", () => {
  it("shows its customer the app's names, and the values of public config vars", async () => {
    const { name } = customers.control.addon(renamed);
    expect(name).toMatch(/^teapots/);
    const url = (uuid: string) => `https://basic.teapots.example/${uuid}`;
    expect((await pageOf(renamed)).vars).toEqual({
      TEAPOT_URL: { name: "EVENTS_URL", value: url(renamed) },
      TEAPOT_TOKEN: { name: "EVENTS_TOKEN", value: null },
    });
    expect((await pageOf(usual)).vars).toEqual({
      TEAPOT_URL: { name: "TEAPOT_URL", value: url(usual) },
      TEAPOT_TOKEN: { name: "TEAPOT_TOKEN", value: null },
    });
  });

  it("has the app's names beside those of the offer, for a mail or a page of the vendor's", async () => {
    const names = async (uuid: string) => (await kitOfVendor.resources.find(uuid))!.configVarNames;
    expect(await names(renamed)).toEqual({ TEAPOT_URL: "EVENTS_URL", TEAPOT_TOKEN: "EVENTS_TOKEN" });
    expect(await names(usual)).toEqual({ TEAPOT_URL: "TEAPOT_URL", TEAPOT_TOKEN: "TEAPOT_TOKEN" });
  });

  it("has the app's names in what actions, plan changes and the progress of work say", async () => {
    const sentence = "See TEAPOT_URL, not TEAPOT_URLS or MY_TEAPOT_URL.";
    const there = "See EVENTS_URL, not TEAPOT_URLS or MY_TEAPOT_URL.";
    expect(await pressed(renamed, async () => sentence)).toContain(there);
    expect(await pressed(usual, async () => sentence)).toContain(sentence);
    for (const uuid of [renamed, usual]) {
      const config = { TEAPOT_URL: `https://basic.teapots.example/${uuid}`, TEAPOT_TOKEN: tokenOf(uuid) };
      vendor.next("changePlan", async () => ({ config, message: sentence }));
      const { response } = await customers.control.changePlan(uuid, "premium");
      expect(response.body).toMatchObject({ message: uuid === renamed ? there : sentence });
    }
    vendor.next("finish", async () => ({ later: sentence, againInSeconds: 3_600 }));
    const app = customers.control.createApp({}).name;
    const { addon } = await customers.control.install({ app, plan: "dedicated", as: "EVENTS" });
    await eventually(async () => expect((await pageOf(addon.id)).text).toContain(`progress: ${there}`));
  });

  it("is shown to operators with the app's names beside the declared ones", async () => {
    const diff: unknown = JSON.parse(await run("diff", renamed, "--json"));
    expect(diff).toEqual([
      { name: "TEAPOT_TOKEN", inApp: "EVENTS_TOKEN", state: "same", value: "[secret]", platform: "[secret]" },
      expect.objectContaining({ inApp: "EVENTS_URL", platform: expect.stringContaining("https://") }),
    ]);
    const table = await run("diff", renamed);
    expect(table).toMatch(/TEAPOT_TOKEN +EVENTS_TOKEN +same +\[secret\]/);
    expect(table).not.toContain(tokenOf(renamed));
    expect(await run("get", renamed)).toMatch(/TEAPOT_TOKEN=\[secret\]\nTEAPOT_URL=https:/);
    const shown = async (uuid: string) =>
      (await kit(customers.world.environment, ["resources", "show", uuid])).stdout;
    expect(await shown(renamed)).toMatch(/attached as +EVENTS/);
    expect(await shown(usual)).not.toContain("attached as");
  });
});

describe("a public config var", () => {
  it("stands on the operator's page of its resource, where the secret ones have their names alone", async () => {
    const operator = customers.browser({ authorization: `Basic ${btoa(`operator:${PASSWORD}`)}` });
    const { text } = await operator.get(`/operator/resources/${renamed}`);
    expect(text).toContain(`<code>EVENTS_URL</code></dt><dd>https://`);
    expect(text).toContain("<code>EVENTS_TOKEN</code></dt><dd>a secret</dd>");
    expect(text).toContain("EVENTS, with which its config vars begin there");
  });

  it("is not redacted from what actions say, nor from the log; a secret one is, also within a public one", async () => {
    const [url, token] = [`https://basic.teapots.example/${usual}`, tokenOf(usual)];
    expect(await pressed(usual, async () => `Poured at ${url} with ${token}.`)).toContain(
      `Poured at ${url} with [secret].`,
    );
    expect(await pressed(usual, () => Promise.reject(new Refusal(`${url} is dry.`)))).toContain(
      `${url} is dry.`,
    );
    await pressed(usual, () => Promise.reject(new Error(`cannot pour at ${url} with ${token}`)));
    expect(customers.world.lines(`cannot pour at ${url} with [secret]`)).not.toEqual([]);
    // A vendor who puts the secret into the public one has still said that it is secret.
    const both = `https://pot.example/?key=${token}`;
    await run("set", usual, `TEAPOT_URL=${both}`);
    expect(await pressed(usual, async () => `Poured at ${both}.`)).toContain(
      "Poured at https://pot.example/?key=[secret].",
    );
    // Equal values: what is secret stays so.
    await run("set", usual, `TEAPOT_URL=${token}`);
    expect(await pressed(usual, async () => `Poured at ${token}.`)).toContain("Poured at [secret].");
    expect(customers.world.logged()).not.toContain(token);
  });
});

const there = (names: string[], attachments: string[]) =>
  attachedAsIn(
    offer,
    "teapots",
    { app: { id: "a", name: "shop" }, config_vars: names },
    attachments.map((name) => ({ name, app: { id: "a", name: "shop" } })),
  );
it.each<[string, string[], string[], string | null]>([
  ["declared names", ["TEAPOT_URL"], ["EVENTS"], null],
  ["declared names under a usual name", ["TEAPOT_URL"], ["TEAPOT"], null],
  ["another prefix", ["EVENTS_URL"], ["OTHER", "EVENTS"], "EVENTS"],
  ["both, of two attachments", ["EVENTS_URL", "TEAPOT_URL"], ["TEAPOT", "EVENTS"], null],
  ["none yet, under another name", [], ["EVENTS"], "EVENTS"],
  ["none yet, under the prefix", [], ["TEAPOT"], null],
  ["none yet, under the service's name", [], ["TEAPOTS"], null],
  ["names that fit nothing", ["KETTLE_URL"], ["EVENTS"], null],
  ["nothing at all", undefined as never, [], null],
])("an app in which the platform shows %s is read so", (_what, names, attachments, expected) => {
  expect(there(names, attachments)).toBe(expected);
});

it("names without a common prefix, and names that are not the offer's, stay", () => {
  const mixed = { configVars: ["TEAPOT_URL", "KETTLE_URL"] };
  expect(nameInApp(mixed, "EVENTS", "TEAPOT_URL")).toBe("TEAPOT_URL");
  expect(nameInApp(offer, "EVENTS", "TEAPOTS_URL")).toBe("TEAPOTS_URL");
  expect(withNamesInApp(offer, "EVENTS", "TEAPOT_URL=$TEAPOT_TOKEN")).toBe("EVENTS_URL=$EVENTS_TOKEN");
  expect(withNamesInApp(offer, null, "TEAPOT_URL")).toBe("TEAPOT_URL");
});
