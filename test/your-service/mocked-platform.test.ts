import { plansOnSale } from "../../src/offer.ts";
import { offer } from "../../src/your-service/plans.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aMockedPlatform, tokens } from "../support/mocked-platform.ts";
import { eventually, opened } from "../support/world.ts";

// Your service against a platform that is played by nock, call by call: what it sends, in which order, and what it does
// if the platform does not behave. Each answer is declared; a call that was not declared fails, and so does a declared one
// that was never made.
const plans = plansOnSale(offer);
const [plan] = plans.find(([, { later }]) => !later) ?? [];
const [latePlan] = plans.find(([, { later }]) => later) ?? [];
/** A test that needs a plan of some kind, which your offer may lack. */
const given = (needed: string | undefined) => (needed ? it : it.skip);

const platform = opened(() => aMockedPlatform());
beforeEach(() => void platform.sent.splice(0));
afterEach(() => expect([platform.undeclared(), platform.unused()]).toEqual([[], []]));

/** The body of a provision request with a grant of its own. */
function aRequest(plan: string) {
  const { uuid, ...rest } = aProvisionRequest({ plan });
  const grant = rest["oauth_grant"] as { code: string; expires_at: string };
  return { uuid, code: grant.code, expiresAt: new Date(grant.expires_at), body: { uuid, ...rest } };
}

given(plan)(
  "a provision is answered with success, and only then is its code exchanged, in time",
  async () => {
    const { uuid, code, expiresAt, body } = aRequest(plan!);
    platform.exchanges(code);
    platform.isAttachedTo(uuid, "bookshop");
    const { status, body: answer } = await platform.provision(body);
    expect([status, platform.calls()]).toEqual([200, []]);
    expect(Object.keys((answer as { config: object }).config)).toEqual(
      expect.arrayContaining([...offer.configVars]),
    );

    await platform.becomes(uuid, "active");
    const [exchange] = platform.sent;
    const { clientSecret: client_secret } = platform;
    expect(exchange!.body).toEqual({ grant_type: "authorization_code", code, client_secret });
    expect(exchange!.at.getTime()).toBeLessThan(expiresAt.getTime());
  },
);

given(plan)("the tokens are stored sealed, and are nowhere in the log", async () => {
  const { uuid, code, body } = aRequest(plan!);
  const pair = tokens();
  platform.exchanges(code, { body: pair });
  platform.isAttachedTo(uuid, "bookshop");
  await platform.provision(body);
  const { credential } = await platform.becomes(uuid, "active");
  const stored = Buffer.concat([credential!.sealedAccessToken!, credential!.sealedRefreshToken!]).toString(
    "latin1",
  );
  for (const secret of [pair.access_token, pair.refresh_token, code])
    for (const place of [stored, platform.logged()]) expect(place).not.toContain(secret);
});

given(plan)("a token is refreshed before it expires", async () => {
  const { uuid, code, body } = aRequest(plan!);
  const pair = tokens({ expires_in: 1 });
  platform.exchanges(code, { body: pair });
  platform.isAttachedTo(uuid, "bookshop");
  platform.refreshes(pair.refresh_token, { body: tokens({ refresh_token: pair.refresh_token }) });
  await platform.provision(body);
  await eventually(async () =>
    expect(await platform.becomes(uuid, "active")).toMatchObject({ credential: { generation: 2 } }),
  );
  const refresh = platform.sent.findLast(({ call }) => call === "POST /oauth/token")!;
  expect(refresh.body).toMatchObject({
    grant_type: "refresh_token",
    refresh_token: pair.refresh_token,
  });
});

given(plan)("the apps that the add-on is attached to are found, with its own token", async () => {
  const { uuid, code, body } = aRequest(plan!);
  const pair = tokens();
  platform.exchanges(code, { body: pair });
  platform.isAttachedTo(uuid, "bookshop", "reports");
  await platform.provision(body);
  expect(await platform.becomes(uuid, "active")).toMatchObject({ appName: "bookshop", attached: 2 });
  const looks = platform.sent.slice(1);
  expect(looks.map(({ call }) => call).sort()).toEqual([
    `GET /addons/${uuid}`,
    `GET /addons/${uuid}/addon-attachments`,
  ]);
  for (const { authorization } of looks) expect(authorization).toBe(`Bearer ${pair.access_token}`);
});

given(latePlan)(
  "what is delivered later sets its config vars, and is then announced as provisioned",
  async () => {
    const { uuid, code, body } = aRequest(latePlan!);
    platform.exchanges(code);
    platform.isAttachedTo(uuid, "bookshop");
    // The sample's `finish` asks for the app's name.
    platform.answers(`GET /addons/${uuid}`, { body: { id: uuid, app: { id: uuid, name: "bookshop" } } });
    platform.answers(`PATCH /addons/${uuid}/config`, { body: [] });
    platform.answers(`POST /addons/${uuid}/actions/provision`);
    expect((await platform.provision(body)).status).toBe(202);

    await platform.becomes(uuid, "active");
    const [config, announced] = platform.sent.slice(-2);
    expect([config!.call, announced!.call]).toEqual([
      `PATCH /addons/${uuid}/config`,
      `POST /addons/${uuid}/actions/provision`,
    ]);
    const vars = (config!.body as { config: { name: string }[] }).config.map(({ name }) => name);
    expect(vars.sort()).toEqual([...offer.configVars].sort());
  },
);

given(plan)("a call that was not declared reaches nobody, as the network is closed", async () => {
  const before = platform.logged().length;
  const { uuid, code, body } = aRequest(plan!);
  await platform.provision(body);
  await eventually(() =>
    expect(platform.logged().slice(before)).toContain("Nock: Disallowed net connect for"),
  );
  expect(platform.calls()).toEqual([]);
  platform.exchanges(code);
  platform.isAttachedTo(uuid, "bookshop");
  await platform.becomes(uuid, "active");
  expect(new Set(platform.undeclared())).toEqual(new Set(["POST id.platform.example/oauth/token"]));
});

describe("a platform that does not behave", () => {
  const answers = {
    "401 without a reason": { status: 401, body: { id: "unauthorized" } },
    "429": { status: 429 },
    "503": { status: 503, body: "Service Unavailable" },
    nonsense: { status: 200, body: "<html>Welcome</html>" },
  };

  (plan ? it.each : it.skip.each)(Object.entries(answers))(
    "an exchange that is answered %s is tried again",
    async (_, answer) => {
      const { uuid, code, body } = aRequest(plan!);
      platform.exchanges(code, answer);
      platform.exchanges(code);
      platform.isAttachedTo(uuid, "bookshop");
      await platform.provision(body);
      expect(await platform.becomes(uuid, "active")).toMatchObject({ credential: { generation: 1 } });
    },
  );

  given(plan)("a call that is answered 401 is repeated with a fresh token", async () => {
    const { uuid, code, body } = aRequest(plan!);
    const [pair, fresh] = [tokens(), tokens()];
    platform.exchanges(code, { body: pair });
    for (const look of ["", "/addon-attachments"])
      platform.answers(`GET /addons/${uuid}${look}`, { status: 401, body: { id: "unauthorized" } });
    platform.refreshes(pair.refresh_token, { body: fresh });
    platform.isAttachedTo(uuid, "bookshop");
    await platform.provision(body);
    expect(await platform.becomes(uuid, "active")).toMatchObject({ appName: "bookshop" });
    expect(platform.sent.at(-1)!.authorization).toBe(`Bearer ${fresh.access_token}`);
  });

  given(plan)("a look that is answered 429 and 503 is made again", async () => {
    const { uuid, code, body } = aRequest(plan!);
    platform.exchanges(code);
    platform.answers(`GET /addons/${uuid}`, { status: 429 });
    platform.answers(`GET /addons/${uuid}/addon-attachments`, { status: 503 });
    platform.isAttachedTo(uuid, "bookshop");
    await platform.provision(body);
    expect(await platform.becomes(uuid, "active")).toMatchObject({ appName: "bookshop" });
  });
});
