import { randomBytes } from "node:crypto";
import type { Environment } from "../../src/environment.ts";
import { runWeb } from "../../src/process/run-web.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { FROM_OUR_PAGE, hiddenIn } from "../operator/pages/operator.ts";
import type { Browser } from "../people/browser.ts";
import { type Form, signed } from "../people/customers.ts";
import { aWorldOfPeople } from "../people/people.ts";
import { basic } from "../support/partner-calls.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { opened, UNHURRIED } from "../support/world.ts";

// The procedures of docs/rotate.md. The client secret and the encryption key have tests of their own, which it names.

const fresh = () => randomBytes(24).toString("hex");
const OPERATOR = fresh();
const SALT = fresh();

let uuid: string;
const people = opened(() =>
  aWorldOfPeople({
    sandbox: { ssoSalt: SALT },
    environment: { SSO_SALT: SALT, OPERATOR_PASSWORD: OPERATOR, SWEEP_CRON: "* * * * * *" },
  }),
);
beforeAll(async () => {
  uuid = await people.world.settled();
});

/** The settings, changed one after the other. */
let settings: Environment;
beforeEach(() => void (settings = people.settings));
const restartWith = (change: Environment) =>
  people.world.restart({ environment: (settings = { ...settings, ...change }) });

let other: RunningService | null = null;
afterEach(() => other?.stop());

it("the add-on's password is rotated without refusing a provision: in the service, at the platform, and in the service again", async () => {
  const { world, control } = people;
  const [old, next] = [world.sandbox.settings.addonPassword, fresh()];
  await startOther();
  await provisions();
  await roll({ ADDON_PASSWORD: next, ADDON_PASSWORD_PREVIOUS: old });
  control.partner({ addonPassword: next });
  await provisions();
  await roll({ ADDON_PASSWORD_PREVIOUS: "" });
  for (const { url } of [world.service, other!]) {
    const headers = { authorization: basic(world.sandbox.settings.addonId, old) };
    expect((await fetch(`${url}/resources/${uuid}`, { method: "DELETE", headers })).status).toBe(401);
  }

  /** The processes get the new settings one after the other; in between they differ. */
  async function roll(change: Environment): Promise<void> {
    await restartWith(change);
    await provisions();
    await startOther();
    await provisions();
  }

  async function startOther(): Promise<void> {
    await other?.stop();
    const logTo = { write: () => undefined };
    other = await runWeb(teapotConfig({ ...world.environment, ...settings }), {
      ...teapotParts,
      pace: UNHURRIED,
      logTo,
    });
    await other.ready;
  }

  async function provisions(): Promise<void> {
    for (const { url } of [world.service, other!]) {
      control.partner({ partnerUrl: url! });
      expect((await control.install({ plan: "basic" })).response?.status).toBe(200);
    }
  }
});

it("rotation of the sign-on salt keeps customers signed in, and refuses only forms with the other salt", async () => {
  const next = fresh();
  const form = () => people.control.signOnForm(uuid).form;
  const signedBefore = (seconds: number) =>
    signed({ ...form(), timestamp: String(Math.floor(Date.now() / 1_000) - seconds) }, SALT);
  const signOn = async (by: Form, browser = people.browser()) =>
    (await browser.post("/sso/login", {}, new URLSearchParams(by))).status;
  const customer = people.browser();
  const seen = async () => (await customer.get(`/customer/${uuid}`)).status;
  expect(await signOn(form())).toBe(303);
  await signOn(signedBefore(30), customer);
  expect(await seen()).toBe(200);

  people.control.partner({ ssoSalt: next });
  expect(await signOn(form())).toBe(403);
  await restartWith({ SSO_SALT: next });
  expect(await seen()).toBe(200);
  expect(await signOn(form())).toBe(303);
  expect(await signOn(signedBefore(2))).toBe(403);
});

it("rotation of the OAuth client's secret keeps people signed in, with tokens that work", async () => {
  const browser = people.browser();
  const page = async () => /<h1>(.*?)<\/h1>/.exec((await browser.get("/oauth/me")).text)![1];
  await people.signIn(browser);
  expect(await page()).toBe("You are signed in");
  const { token } = people.control.userToken();
  const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.svc+json; version=3" };
  const rotate = `${people.world.sandbox.url}/oauth/clients/${people.client.id}/actions/rotate-credentials`;
  const { secret } = (await (await fetch(rotate, { method: "POST", headers })).json()) as { secret: string };
  // Between the two they stay signed in, but the platform cannot be asked.
  expect(await page()).toBe("You are signed in");
  await restartWith({ OAUTH_CLIENT_SECRET: secret });
  expect(await page()).toBe("You are signed in");
  expect(await people.people()).toMatchObject([{ state: "signed_in", last_error: null }]);
  await people.signIn(people.browser());
  expect(await people.sessions()).toHaveLength(2);
});

it("rotation of the operator's password with a restart invalidates the old one and its forms, and keeps the audit trail", async () => {
  const next = fresh();
  const [before, after] = [OPERATOR, next].map((password) =>
    people.browser({ authorization: basic("operator", password) }),
  ) as [Browser, Browser];
  const asked = await before.get("/operator/secret");
  expect(asked.status).toBe(200);
  const form = new URLSearchParams([...hiddenIn(asked.text), ["secret", "never-set-by-this"]]);
  await people.world.forged.actionsEnded("refresh-all", { message: "Kept" });
  await restartWith({ OPERATOR_PASSWORD: next });
  for (const path of ["/operator", "/operator/secret", "/metrics"]) {
    expect([path, (await before.get(path)).status]).toEqual([path, 401]);
    expect([path, (await after.get(path)).status]).toEqual([path, 200]);
  }
  expect((await after.post("/operator/secret", FROM_OUR_PAGE, form)).status).toBe(403);
  expect((await after.get("/operator/actions")).text).toContain("Kept");
});
