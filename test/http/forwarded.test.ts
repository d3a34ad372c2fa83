import { aWorldOfPeople } from "../people/people.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually, opened } from "../support/world.ts";

// X-Forwarded-For, -Proto and -Host count as far as TRUST_PROXY says that our own proxies wrote them.

const people = opened(() => aWorldOfPeople());

const ours = /^(127\.0\.0\.1|::1)$/;
const DIRECT = { proto: "http", host: /^localhost:\d+$/ };
const ADDON = { proto: "https", host: /^addon\.example\.com$/ };

describe.each<{ proxies: number; headers: Record<string, string>; address: RegExp; proto: string; host: RegExp }>([
  { proxies: 0, headers: {}, address: ours, ...DIRECT },
  { proxies: 0, headers: { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "x-forwarded-host": "evil.example.com" }, address: ours, ...DIRECT },
  { proxies: 1, headers: {}, address: ours, ...DIRECT },
  { proxies: 1, headers: { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "x-forwarded-host": "addon.example.com" }, address: /^203\.0\.113\.7$/, ...ADDON },
  { proxies: 1, headers: { "x-forwarded-for": "203.0.113.7:4711", "x-forwarded-proto": "http" }, address: /^203\.0\.113\.7$/, ...DIRECT },
  { proxies: 2, headers: { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "x-forwarded-host": "addon.example.com" }, address: /^203\.0\.113\.7$/, ...ADDON },
])("TRUST_PROXY=$proxies, $headers", ({ proxies, headers, address, proto, host }) => {
  beforeAll(() => people.world.restart({ environment: { TRUST_PROXY: String(proxies) } }));
  afterEach(() => people.forgetEverybody());

  it("decide the address in the log, and the browser's: its cookies and its forms", async () => {
    const id = `request-${Math.random().toString(36).slice(2)}`;
    const authorization = basic("teapots", "a-wrong-password");
    await fetch(`${people.url()}/resources`, { method: "POST", headers: { ...headers, authorization, "request-id": id } });
    const line = await eventually(() => people.world.logged().split("\n").find((each) => each.includes(id)) ?? null);
    expect((JSON.parse(line) as { address: string }).address).toMatch(address);

    const { headers: answered } = await people.browser(headers).get("/oauth/login");
    expect(/; Secure;/.test(answered.getSetCookie().join())).toBe(proto === "https");
    const hosts = [new URL(people.url()).host, "addon.example.com", "evil.example.com", "inner"];
    for (const each of hosts)
      for (const scheme of ["http", "https"]) {
        const isOurs = scheme === proto && host.test(each);
        const sent = await people.browser(headers).post("/oauth/logout", { origin: `${scheme}://${each}` });
        expect([scheme, each, sent.status]).toEqual([scheme, each, isOurs ? 303 : 403]);
      }
  });
}); // prettier-ignore
