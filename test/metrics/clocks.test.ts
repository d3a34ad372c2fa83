import { aWorldOfCustomers } from "../people/customers.ts";
import type { Database } from "../../src/database/database.ts";
import { examine } from "../../src/operator/doctor/doctor.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually, opened } from "../support/world.ts";
import { PASSWORD } from "./operator.ts";

// A database whose clock is ten minutes ahead: each statement's now() is.

let aheadMinutes = 0;
let uuid: string;
const shifted = <S extends { name: string; text: string }>(statement: S): S => ({
  ...statement,
  name: `${statement.name}_${aheadMinutes}`,
  text: statement.text.replaceAll("now()", `(now() + interval '${aheadMinutes} minutes')`),
});
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (statement, values) => database.query(shifted(statement), values),
});
const environment = { OPERATOR_PASSWORD: PASSWORD };
const customers = opened(() => aWorldOfCustomers({ environment, parts: { wrapDatabase } }));
beforeAll(async () => {
  uuid = await customers.life.settled();
});

const services = () => customers.world.service.services;
const ready = async () => (await (await fetch(`${customers.url()}/readyz`)).json()) as object;
const headers = { authorization: basic("operator", PASSWORD) };
const scraped = async () => (await fetch(`${customers.url()}/metrics`, { headers })).text();
const checkUp = async () => {
  const { config, offer } = services();
  const open = () => Promise.resolve(services());
  const { checks } = await examine({ offer, readSettings: () => config, open });
  return checks.find(({ id }) => id === "clocks");
};

describe("a database's clock that differs from the platform's", () => {
  it("is no fault while it is right", async () => {
    expect(await ready()).toEqual({ status: "ready" });
    expect(await checkUp()).toMatchObject({ ok: true });
    expect(await scraped()).toMatch(/^addon_clocks_apart_seconds [0-5](\.\d+)?$/m);
  });

  it("by ten minutes raises an alarm, is a fault of the check-up, a metric, and degraded", async () => {
    aheadMinutes = 10;
    await customers.world.restart();
    await eventually(() => expect(customers.world.logged()).toContain(`"alarm":"clocks_apart"`));
    expect(await ready()).toEqual({ status: "degraded" });
    const message = expect.stringMatching(/database is (599|600|601) s ahead of .*the platform agrees/);
    expect(await checkUp()).toMatchObject({ ok: false, message });
    expect(await scraped()).toMatch(/^addon_clocks_apart_seconds (599|600|601)/m);
    expect(await scraped()).toMatch(/addon_alarms_total\{alarm="clocks_apart"\} [1-9]/);
  });

  it("is the reason with which a refused sign-on is logged", async () => {
    const { status } = await customers.signOn(customers.browser(), customers.signedForm(uuid));
    expect(status).toBe(403);
    await eventually(() =>
      expect(customers.world.logged()).toMatch(/"problem":"sign_on_refused".*Clocks are apart/),
    );
  });

  it("lets no page show a time in the past as one to come", async () => {
    await customers.world.rows(`UPDATE resources SET created_at = now() + interval '9 minutes'`);
    for (const path of ["/operator/resources", `/operator/resources/${uuid}`]) {
      const text = await (await fetch(customers.url() + path, { headers })).text();
      const past = text.slice(0, text.indexOf("Credential")) + text.slice(text.indexOf("What happened"));
      expect(past).not.toMatch(/\(in \d/);
    }
  });

  it("is no fault any more once it is right again", async () => {
    aheadMinutes = 0;
    await services().clocks.look();
    expect(await ready()).toEqual({ status: "ready" });
  });
});
