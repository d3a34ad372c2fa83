import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

let people: PeopleWorld;
beforeAll(async () => void (people = await aWorldOfPeople()));
beforeEach(async () => {
  await people.world.rows(`DELETE FROM sessions`);
  await people.world.rows(`DELETE FROM people`);
  await people.world.rows(`DELETE FROM sign_in_attempts`);
});
afterAll(() => people.close());

describe("signing in", () => {
  it("sends the browser to the platform with what its document asks for, and nothing else", async () => {
    const { status, location, headers } = await people.browser().get("/oauth/login");
    expect(status).toBe(303);
    expect(location).toMatch(
      new RegExp(
        `^${people.world.sandbox.url}/oauth/authorize\\?client_id=${people.client.id}&response_type=code&scope=identity&state=[\\w-]{43}$`,
      ),
    );
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("ends on a page that says who one is, what one allowed and since when", async () => {
    const browser = people.browser();
    const back = await people.signIn(browser);
    expect(back).toMatchObject({ status: 303, location: "/oauth/me" });
    const { status, text } = await browser.get("/oauth/me");
    expect(status).toBe(200);
    expect(text).toContain("owner@example.com");
    expect(text).toContain("<dd>owner</dd>");
    expect(text).toContain("<code>identity</code> read the account's name and e-mail");
    expect(text).toMatch(/<time datetime="\d{4}-\d\d-\d\dT[^"]+Z">\d+ \w+ \d{4} at \d\d:\d\d UTC<\/time>/i);
  });
});
