import { isSecretName, withoutSecretQuery } from "../wire/secret-names.ts";
import { aWorld, type TestWorld } from "./world.ts";

/** Secrets that the sandbox does not know: mistyped, or of another platform. */
const FOREIGN = "an-unknown-secret";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const send = (path: string, init: RequestInit = {}) => fetch(world.sandbox.url + path, init);
const lastCall = () => world.control.ledger().entries.at(-1)!;

describe("the ledger shows of headers with credentials", () => {
  const shown = async (headers: Record<string, string>) => {
    await send("/apps", { headers });
    return lastCall().request.headers;
  };

  it.each(["authorization", "proxy-authorization"])("only the scheme, in %s", async (name) => {
    const { token } = await world.installed();
    for (const secret of [token, FOREIGN]) {
      expect(await shown({ [name]: secret })).toMatchObject({ [name]: "[secret]" });
      expect(await shown({ [name]: `${secret} Bearer` })).toMatchObject({ [name]: "[secret]" });
      for (const scheme of ["Bearer", "bearer", "Basic"])
        expect(await shown({ [name]: `${scheme} ${secret}` })).toMatchObject({
          [name]: `${scheme} [secret]`,
        });
    }
    expect(await shown({ [name]: "Bearer" })).toMatchObject({ [name]: "[secret]" });
  });

  it.each(["x-api-key", "x-auth-token", "cookie"])("nothing, in %s", async (name) => {
    expect(await shown({ [name]: FOREIGN })).toMatchObject({ [name]: "[secret]" });
  });

  it("nothing, in any number of cookies that the service sets", async () => {
    const { addon } = await world.installed();
    const cookies = [`session=${FOREIGN}`, `csrf=${FOREIGN}`];
    world.partner.answers({ status: 303, headers: { "set-cookie": cookies } });
    await world.control.signOn(addon.id);
    expect(lastCall().response?.headers["set-cookie"]).toEqual(["[secret]", "[secret]"]);
  });
});

it("a secret's value is masked whatever its type: number, array, object", async () => {
  const json = {
    client_secret: 123_456_789,
    code: [FOREIGN, 987_654_321],
    token: { id: "t-1", was: FOREIGN },
  };
  await world.call("", "/oauth/token", { method: "POST", json });
  expect(lastCall().request.body).toEqual({
    client_secret: "[secret]",
    code: ["[secret]", "[secret]"],
    token: { id: "t-1", was: "[secret]" },
  });
});

describe("the ledger masks secrets that the sandbox does not know", () => {
  const post = async (body: BodyInit, contentType?: string) => {
    const headers = contentType === undefined ? {} : { "content-type": contentType };
    await send("/oauth/token", { method: "POST", body, headers });
    return lastCall().request.body;
  };

  it.each(["client_secret", "code", "refresh_token", "access_token", "token", "client%5Fsecret", "token[]"])(
    "in an address: %s",
    async (name) => {
      for (const path of ["/apps", "/oauth/token", "/oauth/authorize"]) {
        const headers = { referer: `https://a.example.com/?${name}=${FOREIGN}` };
        await send(`${path}?${name}=${FOREIGN}&page=2&${name}=${FOREIGN}`, { method: "POST", headers });
        const entry = lastCall();
        expect(JSON.stringify(entry)).not.toContain(FOREIGN);
        expect(entry.path).toBe(`${path}?${name}=[secret]&page=2&${name}=[secret]`);
      }
    },
  );

  it("in a form, whatever follows the name", async () => {
    const fields = { "client_secret[]": FOREIGN, "refresh_token[0]": FOREIGN, grant_type: "refresh_token" };
    expect(await post(new URLSearchParams(fields))).toEqual({
      "client_secret[]": "[secret]",
      "refresh_token[0]": "[secret]",
      grant_type: "refresh_token",
    });
  });

  it.each([
    ["text", "text/plain", `client_secret=${FOREIGN}`],
    ["JSON that is cut short", "application/json", `{"client_secret": "${FOREIGN}`],
    ["a JSON string", "application/json", `"${FOREIGN}"`],
    ["JSON called a form", "application/x-www-form-urlencoded", `{"client_secret": "${FOREIGN}"}`],
    ["JSON in a form's name", "application/x-www-form-urlencoded", `%7B"client_secret":"${FOREIGN}"%7D=`],
    ["a form without names", "application/x-www-form-urlencoded", FOREIGN],
  ])("in a body that is %s", async (_, contentType, body) => {
    expect(await post(body, contentType)).toBe(`[no JSON object: ${body.length} bytes]`);
    const { request } = world.control.ledger({ reveal: true }).entries.at(-1)!;
    expect(JSON.stringify(request.body)).toContain(FOREIGN);
  });

  it("in a multipart form, and in a body without a type", async () => {
    const parts = new FormData();
    parts.append("client_secret", FOREIGN);
    for (const body of [parts, new Blob([`client_secret=${FOREIGN}`])])
      expect(await post(body)).toMatch(/^\[no JSON object: \d+ bytes\]$/);
  });

  it("in the page that the service answers a sign-on with", async () => {
    const { addon } = await world.installed();
    world.partner.answers({ status: 200, contentType: "text/html", body: `<p>${FOREIGN}</p>` });
    const { response } = await world.control.signOn(addon.id);
    expect(response.body).toContain(FOREIGN);
    expect(JSON.stringify(world.control.ledger())).not.toContain(FOREIGN);
  });
});

it.each([
  "?state=1&page=2#top",
  "?next=https://a/?page=2;sort=up",
  "?redirect_uri=https%3A%2F%2Fa%2F%3Fpage%3D2",
  "?code=&b=2",
  "a=b==",
])("an address without a secret is shown completely: %s", (address) => {
  expect(withoutSecretQuery(address, "[secret]")).toBe(address);
});

it.each(["?", "&", "=", "%", ";a", "?a=", "&a=", "&%=", "&a=%3F", "?%61=", "%3Fa%3D", "a.", "&a.b[c]="])(
  "an address of 300 kB is scanned at once, also one full of %s",
  (part) => {
    // Time of the processor, which a busy machine does not lengthen.
    const before = process.cpuUsage();
    for (const end of ["", "=1", "&code=1"])
      withoutSecretQuery(`?${part.repeat(300_000 / part.length)}${end}`, "[secret]");
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  },
);

it.each([
  "refreshToken",
  "accessToken",
  "client-secret",
  "user.client_secret",
  "user[clientSecret]",
  "SSO-Salt",
])("%s is treated as the name of a secret", (name) => expect(isSecretName(name)).toBe(true));
