import { aPerson, faultAt, type Person } from "./market.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let person: Person;
let name: string;
let id: string;
beforeEach(async () => {
  world = await aWorld();
  person = aPerson(world);
  world.control.createApp({ name: "shop" });
  ({ name, id } = (await world.installed({ app: "shop" })).addon);
});
afterEach(() => world.close());

const at = (rest = "") => `/marketplace/addons/${name}${rest}`;
const addon = () => world.control.addon(id);
const calls = () => world.partner.requests.map(({ method, path }) => `${method} ${path}`);

describe("the page of an add-on", () => {
  it("shows the progress, the config vars, and every call about it", async () => {
    const { status, text } = await person.visit(at());
    expect(status).toBe(200);
    for (const words of ["provisioned", "your service has its tokens", "WIDGET_URL", "exchanges the grant"])
      expect(text).toContain(words);
  });

  it("says that the service answered, also when the grant expired, the add-on ended or there was no grant", async () => {
    await world.control.install({ app: "shop", as: "LATE" });
    const late = world.control.state().addons.at(-1)!;
    world.control.advanceClock(300);
    const expired = await person.visit(`/marketplace/addons/${late.name}`);
    expect(expired.text).toContain("your service accepted");
    expect(expired.text).toContain("the grant is expired");
    await world.control.deprovision(late.id);
    const ended = await person.visit(`/marketplace/addons/${late.name}`);
    expect(ended.text).toContain("your service accepted");
    const old = world.control.installWithoutProvision({ app: "shop", as: "OLD" });
    const { text } = await person.visit(`/marketplace/addons/${old.addon.name}`);
    expect(text).toContain("there is no grant");
    expect(text).not.toContain("due within 5 minutes");
  });

  it("shows no code, token, password or config value", async () => {
    const { entries } = world.control.ledger({ reveal: true });
    const { access_token, refresh_token } = entries.at(-1)!.response!.body as Record<string, string>;
    const { addonPassword, clientSecret } = world.sandbox.settings;
    const secrets = [
      world.lastCode(),
      access_token,
      refresh_token,
      addonPassword,
      clientSecret,
      "w.example.com",
    ];
    for (const path of [
      at(),
      "/",
      "/marketplace/apps/shop",
      "/marketplace/ledger",
      "/marketplace/platform",
    ]) {
      const { html } = await person.visit(path);
      expect(secrets.filter((secret) => html.includes(secret!))).toEqual([]);
    }
  });
});

describe("the forms of an add-on's page", () => {
  it("change the plan", async () => {
    const page = await person.send(at("/plan"), { plan: "premium" });
    expect([page.at, addon().plan.name]).toEqual([at(), "widgets:premium"]);
    expect(page.text).toContain("Plan change to premium: your service answered 200");
  });

  it.each([
    ["", "Choose a plan."],
    ["huge", expect.stringContaining("no plan huge")],
  ])("refuse the plan %p at its field, without a call to the service", async (plan, fault) => {
    const before = calls();
    const page = await person.send(at("/plan"), { plan });
    expect([page.status, faultAt(page, "plan-plan"), calls()]).toEqual([422, fault, before]);
  });

  it("attach it to a second app, which gets its config vars under the attachment's name", async () => {
    world.control.createApp({ name: "blog" });
    const page = await person.send(at("/attach"), { app: "blog", as: "GADGET" });
    expect(page.text).toContain("Attached to blog as GADGET");
    expect(world.control.configVars("shop")).toEqual({ WIDGET_URL: "https://w.example.com" });
    expect(world.control.configVars("blog")).toEqual({ GADGET_URL: "https://w.example.com" });
    const blog = await person.visit("/marketplace/apps/blog");
    expect(blog.text).toContain("GADGET_URL");
    expect(blog.text).toContain("of the app shop");
  });

  it.each([
    ["as", { app: "blog", as: "gadget" }, /upper-case letters/],
    ["app", { app: "nope" }, /no app nope/],
    ["app", {}, /Choose an app/],
  ])("refuse a wrong attachment at %s", async (field, form, fault) => {
    world.control.createApp({ name: "blog" });
    const page = await person.send(at("/attach"), form as Record<string, string>);
    expect(faultAt(page, `attach-${field}`)).toMatch(fault);
    expect(world.control.configVars("blog")).toEqual({});
  });

  it.each([
    ["same", "exchanged"],
    ["new", "exchangeable"],
  ])("deliver the provision request again with the %s grant", async (code, state) => {
    const page = await person.send(at("/redeliver"), { code, fault: "" });
    expect(page.text).toContain("Repeated provision: your service answered 200");
    expect([calls(), addon().grant?.state]).toEqual([["POST /resources", "POST /resources"], state]);
  });

  it.each([
    ["access", { tokens: [{ state: "revoked" }] }],
    ["refresh", { refresh_token: { state: "revoked" } }],
  ])("revoke the %s token", async (token, state) => {
    await person.send(at("/revoke"), { token });
    expect(addon()).toMatchObject(state);
    expect((await person.visit(at())).text).not.toContain("revoked valid");
  });

  it("uninstall the add-on, whose page then has no forms of the owner", async () => {
    const page = await person.send(at("/uninstall"), {});
    expect([page.at, addon().state]).toEqual(["/marketplace/apps/shop", "deprovisioned"]);
    const { text, html } = await person.visit(at());
    expect(text).toContain("This add-on was on");
    expect(html).not.toContain(at("/uninstall"));
  });
});

describe("the sign-on page", () => {
  const formOf = (html: string) =>
    Object.fromEntries(
      [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, key, value]) => [
        key!,
        value!,
      ]),
    );

  it("contains the signed form for the browser, and shows none of its tokens", async () => {
    const page = await person.visit(`${at("/sign-on")}?email=owner@example.com`);
    const form = formOf(page.html);
    expect(page.html).toContain(`action="${world.partner.url}/sso/login"`);
    expect(form).toMatchObject({ resource_id: id, email: "owner@example.com", app: "shop" });
    expect(form["user_scoped_resource_token"]).toMatch(/^[0-9a-f]{64}$/);
    expect(page.text).not.toContain(form["resource_token"]);
    // The service may redirect the browser to any address.
    expect(page.headers.get("content-security-policy")).toContain("form-action 'self' http: https:");
  });

  it("can post the form itself and show the answer", async () => {
    world.partner.answers({ status: 303, body: "" });
    const page = await person.send(at("/sign-on"), { email: "colleague@example.com" });
    expect(page.text).toContain("Sign-on: your service answered 303");
    expect(calls().at(-1)).toBe("POST /sso/login");
  });
});
