import { aWorld, type TestWorld } from "./world.ts";

/** Secrets that the sandbox has never seen: mistyped, or of another platform. */
const FOREIGN = "an-unknown-secret";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const send = (path: string, init: RequestInit = {}) => fetch(world.sandbox.url + path, init);
const lastCall = () => world.control.ledger().entries.at(-1)!;

describe("of a header with credentials is shown", () => {
  const shown = async (headers: Record<string, string>) => {
    await send("/apps", { headers });
    return lastCall().request.headers;
  };

  it.each(["authorization", "proxy-authorization"])("in %s the scheme, if there is one", async (name) => {
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

  it.each(["x-api-key", "x-auth-token", "cookie"])("nothing in %s", async (name) => {
    expect(await shown({ [name]: FOREIGN })).toMatchObject({ [name]: "[secret]" });
  });

  it("nothing in cookies that the service sets, however many", async () => {
    const { addon } = await world.installed();
    const cookies = [`session=${FOREIGN}`, `csrf=${FOREIGN}`];
    world.partner.answers({ status: 303, headers: { "set-cookie": cookies } });
    await world.control.signOn(addon.id);
    expect(lastCall().response?.headers["set-cookie"]).toEqual(["[secret]", "[secret]"]);
  });
});

it("A secret's value is hidden whatever it is: a number, a list, an object", async () => {
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
