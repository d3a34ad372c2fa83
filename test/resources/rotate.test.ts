import { randomBytes } from "node:crypto";
import type { Environment } from "../../src/environment.ts";
import { runWeb } from "../../src/process/run-web.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { signed } from "../people/customers.ts";
import { FROM_OUR_PAGE, hiddenIn } from "../operator/pages/operator.ts";
import type { Browser } from "../people/browser.ts";
import { aWorldOfPeople } from "../people/people.ts";
import { basic } from "../support/partner-calls.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { opened } from "../support/world.ts";

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
  const { addon } = await people.control.install({ plan: "basic" });
  uuid = addon.id;
  await people.world.quiet([uuid]);
});

/** The settings, changed one after the other. */
let settings: Environment;
beforeEach(() => void (settings = people.settings));
const restartWith = (change: Environment) =>
  people.world.restart({ environment: (settings = { ...settings, ...change }) });

describe("rotation of the add-on's password", () => {
  let other: RunningService | null = null;
  afterEach(() => other?.stop());

  it("refuses no provision at any moment: changed in the service, at the platform, and in the service again", async () => {
    const { world, control } = people;
    const [old, next] = [world.sandbox.settings.addonPassword, fresh()];
    await startOther(settings);
    await provisions();
    await roll({ ADDON_PASSWORD: next, ADDON_PASSWORD_PREVIOUS: old });
    control.partner({ addonPassword: next });
    await provisions();
    await roll({ ADDON_PASSWORD_PREVIOUS: "" });
    for (const { url } of processes()) {
      const authorization = basic(world.sandbox.settings.addonId, old);
      const answer = await fetch(`${url}/resources/${uuid}`, {
        method: "DELETE",
        headers: { authorization },
      });
      expect(answer.status).toBe(401);
    }

    /** The processes get the new settings one after the other; in between they differ. */
    async function roll(change: Environment): Promise<void> {
      await restartWith(change);
      await provisions();
      await startOther(settings);
      await provisions();
    }

    async function startOther(environment: Environment): Promise<void> {
      await other?.stop();
      other = await runWeb(teapotConfig({ ...world.environment, ...environment }), {
        ...teapotParts,
        logTo: { write: () => undefined },
      });
      await other.ready;
    }

    async function provisions(): Promise<void> {
      for (const { url } of processes()) {
        control.partner({ partnerUrl: url! });
        expect((await control.install({ plan: "basic" })).response?.status).toBe(200);
      }
    }

    function processes(): RunningService[] {
      return [world.service, ...(other ? [other] : [])];
    }
  });
});

describe("rotation of the sign-on salt", () => {
  it("keeps customers signed in, and refuses only forms with the other salt", async () => {
    const next = fresh();
    const form = () => people.control.signOnForm(uuid).form;
    const before = form();
    expect((await signOn(before)).status).toBe(303);
    const page = await signOn(signed({ ...form(), timestamp: secondsAgo(30) }, SALT));
    const [cookie] = page.headers.getSetCookie()[0]!.split(";");
    const seen = () =>
      fetch(`${people.url()}/customer/${uuid}`, { headers: { cookie: cookie! } }).then(
        ({ status }) => status,
      );
    expect(await seen()).toBe(200);

    people.control.partner({ ssoSalt: next });
    expect((await signOn(form())).status).toBe(403);
    await restartWith({ SSO_SALT: next });
    expect(await seen()).toBe(200);
    expect((await signOn(form())).status).toBe(303);
    expect((await signOn(signed({ ...form(), timestamp: secondsAgo(2) }, SALT))).status).toBe(403);
  });

  const secondsAgo = (seconds: number) => String(Math.floor(Date.now() / 1_000) - seconds);
  const signOn = (form: Record<string, string>) =>
    fetch(`${people.url()}/sso/login`, {
      method: "POST",
      body: new URLSearchParams(form),
      redirect: "manual",
    });
});

describe("rotation of the OAuth client's secret", () => {
  let browser: Browser;
  const page = async () => /<h1>(.*?)<\/h1>/.exec((await browser.get("/oauth/me")).text)![1];

  it("keeps people signed in, with tokens that work", async () => {
    browser = people.browser();
    await people.signIn(browser);
    expect(await page()).toBe("You are signed in");
    const { secret } = await reset();
    // Between the two they stay signed in, but the platform cannot be asked.
    expect(await page()).toBe("You are signed in");
    await restartWith({ OAUTH_CLIENT_SECRET: secret });
    expect(await page()).toBe("You are signed in");
    expect(await people.people()).toMatchObject([{ state: "signed_in", last_error: null }]);
    await people.signIn(people.browser());
    expect(await people.sessions()).toHaveLength(2);
  });

  async function reset(): Promise<{ secret: string }> {
    const { token } = people.control.userToken();
    const { url } = people.world.sandbox;
    const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.svc+json; version=3" };
    const path = `/oauth/clients/${people.client.id}/actions/rotate-credentials`;
    return (await (await fetch(url + path, { method: "POST", headers })).json()) as { secret: string };
  }
});

describe("rotation of the operator's password", () => {
  it("with a restart invalidates the old password and its forms, and keeps the audit trail", async () => {
    const next = fresh();
    const asked = await operator(OPERATOR, "/operator/secret");
    expect(asked.status).toBe(200);
    const form = new URLSearchParams([...hiddenIn(await asked.text()), ["secret", "never-set-by-this"]]);
    await people.world.rows(
      `INSERT INTO operator_actions (action, state, message, form, ended_at) VALUES ('refresh-all', 'done', 'Kept', 'a-form', now())`,
    );
    await restartWith({ OPERATOR_PASSWORD: next });
    for (const path of ["/operator", "/operator/secret", "/metrics"]) {
      expect([path, (await operator(OPERATOR, path)).status]).toEqual([path, 401]);
      expect([path, (await operator(next, path)).status]).toEqual([path, 200]);
    }
    const sent = await operator(next, "/operator/secret", {
      method: "POST",
      body: form,
      headers: FROM_OUR_PAGE,
    });
    expect(sent.status).toBe(403);
    expect(await (await operator(next, "/operator/actions")).text()).toContain("Kept");
  });

  const operator = (password: string, path: string, init: RequestInit = {}) =>
    fetch(people.url() + path, {
      ...init,
      redirect: "manual",
      headers: { ...(init.headers as Record<string, string>), authorization: basic("operator", password) },
    });
});
