import { aBrowser } from "../people/browser.ts";
import { aWorldOfCustomers, signed } from "../people/customers.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { kit, kitJson } from "../support/kit.ts";
import { basic } from "../support/partner-calls.ts";
import { opened } from "../support/world.ts";

// What in a name from outside turns or hides the text around it is visible where it is shown, and stored as it came.

const PASSWORD = "a-password-of-the-operator";
const customers = opened(() => aWorldOfCustomers({ environment: { OPERATOR_PASSWORD: PASSWORD } }));

/** Each mark, and how it is shown. */
const MARKS: [what: string, mark: string, shown: string][] = [
  ["an override from right to left", "\u202e", "\\u202e"],
  ["an embedding and its end", "\u202b\u202c", "\\u202b\\u202c"],
  ["isolates", "\u2066\u2067\u2068\u2069", "\\u2066\\u2067\\u2068\\u2069"],
  ["marks of a direction", "\u200e\u200f\u061c", "\\u200e\\u200f\\u061c"],
  ["spaces without width", "\u200b\u2060\ufeff\u180e", "\\u200b\\u2060\\ufeff\\u180e"],
  ["joiners between letters of ASCII", "\u200dx\u200c", "\\u200dx\\u200c"],
  ["a soft hyphen, and a filler", "\u00ad\u3164", "\\u00ad\\u3164"],
  ["tags", "\u{e0041}", "\\udb40\\udc41"],
  ["ends of lines", "\u2028\u2029", "\\u2028\\u2029"],
  ["an escape sequence", "\u001b[2J\u009b31m", "\\u001b[2J\\u009b31m"],
];
/** What stays as it is: letters of every script, and what belongs to them. */
const LETTERS = "שלום 👩‍👩‍👧 ❤️ می‌خواهم Zoë";

async function provisioned(mark: string) {
  const name = `tea${mark}pot ${LETTERS}`;
  const wanted = aProvisionRequest({ name, region: `eu${mark}west` });
  expect((await customers.life.platform.provision(wanted)).status).toBe(200);
  const app = { name: `app${mark}of ${LETTERS}`, id: wanted.uuid };
  await customers.world.forged.isNamed(wanted.uuid, { appName: app.name });
  return { uuid: wanted.uuid, name, region: `eu${mark}west`, app };
}

const operator = aBrowser(() => customers.url(), { authorization: basic("operator", PASSWORD) });

it.each(MARKS)(
  "%s: visible to customers and operators, and exact in JSON and when stored",
  async (_, mark, shown) => {
    const { uuid, name, region, app } = await provisioned(mark);
    const names = [`tea${shown}pot ${LETTERS}`, `app${shown}of ${LETTERS}`];

    const customer = customers.browser();
    const email = `ann${mark.replace(/\p{Cc}/gu, "")}@example.com`;
    const timestamp = String(Math.floor(Date.now() / 1_000));
    await customers.signOn(customer, signed({ resource_id: uuid, timestamp, user_id: uuid, email }));
    const pages = [
      (await customer.get(`/customer/${uuid}`)).text,
      (await operator.get("/operator/resources")).text,
      (await operator.get(`/operator/resources/${uuid}`)).text,
    ];
    for (const html of pages) {
      for (const each of names) expect(html).toContain(each);
      expect(html).not.toContain(mark);
    }
    for (const html of pages.slice(1)) expect(html).toContain(`<bdi>${names[0]}</bdi>`);

    const { stdout: list } = await kit(customers.world.environment, ["resources", "list"]);
    const { stdout: show } = await kit(customers.world.environment, ["resources", "show", uuid]);
    for (const text of [list, show]) expect(text).not.toContain(mark);
    expect(list).toContain(names[0]);
    for (const each of [...names, `eu${shown}west`]) expect(show).toContain(each);

    const { data } = await kitJson(customers.world.environment, ["resources", "show", uuid]);
    expect(data).toMatchObject({ name, region, app });
    const stored = await customers.world.rows("SELECT name, region FROM resources WHERE uuid = $1", [uuid]);
    expect(stored).toEqual([{ name, region }]);
  },
);

it("a field keeps what was searched for, byte by byte", async () => {
  const text = "tea\u202epot";
  const { text: html } = await operator.get(`/operator/resources?${new URLSearchParams({ text })}`);
  expect(html).toContain(`value="${text}"`);
});
