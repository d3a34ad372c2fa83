import { basic } from "../support/partner-calls.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// Whatever a stranger is refused for by the thousand, the log has one line of it in a while.

const MANY = 30;
const PASSWORD = "a-password-of-the-operator";

const world = opened(() =>
  aWorld({
    environment: { OPERATOR_PASSWORD: PASSWORD, SSO_SALT: "a-salt-of-the-sign-on" },
    parts: { pace: { lastOrdersMs: 25, logAgainMs: 600_000 } },
  }),
);

async function ask(path: string, init: RequestInit = {}, status: number): Promise<void> {
  for (let asked = 0; asked < MANY; asked++) {
    const answer = await fetch(world.service.url + path, { redirect: "manual", ...init });
    expect([path, answer.status]).toEqual([path, status]);
    await answer.arrayBuffer();
  }
}

const form = { "content-type": "application/x-www-form-urlencoded" };
const FLOODS: [string, number, string, () => Promise<unknown>][] = [
  ["no password", 401, "/metrics", () => ask("/metrics", {}, 401)],
  [
    "a wrong password",
    401,
    "/resources",
    () => ask("/resources", { method: "POST", headers: { authorization: basic("teapots", "x") } }, 401),
  ],
  ["a forged sign-on", 403, "/sso/login", () => ask("/sso/login", { method: "POST", body: "a=b", headers: form }, 403)],
  ["what is not there", 404, "/nothing", () => ask("/nothing?really", {}, 404)],
  ["a wrong method, whatever it claims", 405, "/sso/login", () => ask("/sso/login", { headers: { authorization: basic("a", "b") } }, 405)],
  [
    "a compressed body",
    415,
    "/sso/login",
    () => ask("/sso/login", { method: "POST", body: "a=b", headers: { ...form, "content-encoding": "gzip" } }, 415),
  ],
  ["an address that cannot be read", 400, "/customer/%", () => ask("/customer/%", {}, 400)],
]; // prettier-ignore

it.each(FLOODS)("%s: a sample is logged, with the address", async (_, status, path, flood) => {
  await flood();
  const lines = () => world.lines(`"path":"${path}`, `"status":${status}`);
  await eventually(() => expect(lines()).toHaveLength(1));
  expect(JSON.parse(lines()[0]!)).toMatchObject({ address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) });
});

it("wrong passwords are counted by what they would open, and right ones pass beside them", async () => {
  const wrong = { headers: { authorization: basic("operator", "a-guess") } };
  await ask("/metrics", wrong, 401);
  await ask("/operator/resources", wrong, 401);
  await eventually(async () => {
    const headers = { authorization: basic("operator", PASSWORD) };
    const scraped = await (await fetch(`${world.service.url}/metrics`, { headers })).text();
    for (const door of ["platform", "operator", "metrics"])
      expect(scraped).toContain(`addon_wrong_passwords_total{door="${door}"} ${MANY}\n`);
  });
});

it("what the platform is not answered is logged each time, with its error", async () => {
  const { addonId, addonPassword } = world.sandbox.settings;
  const path = "/resources/01234567-89ab-4cde-8f01-23456789abcd";
  await world.rows("ALTER TABLE resources RENAME TO gone");
  await ask(path, { method: "DELETE", headers: { authorization: basic(addonId, addonPassword) } }, 500);
  await world.rows("ALTER TABLE gone RENAME TO resources");
  await eventually(() => expect(world.lines(`"path":"${path}"`, `"status":500`)).toHaveLength(MANY));
  expect(world.lines("A request failed", "does not exist")).toHaveLength(MANY);
});

it("what the platform and operators are refused is logged each time", async () => {
  const { addonId, addonPassword } = world.sandbox.settings;
  const refusals: [path: string, method: string, authorization: string][] = [
    ["/resources", "PATCH", basic(addonId, addonPassword)],
    ...["/metrics", "/operator/resources", "/operator/secret"].map(
      (path) => [path, "DELETE", basic("operator", PASSWORD)] as [string, string, string],
    ),
  ];
  for (const [path, method, authorization] of refusals) {
    await ask(path, { method, headers: { authorization } }, 405);
    await eventually(() => expect(world.lines(`"path":"${path}"`, `"status":405`)).toHaveLength(MANY));
  }
});
