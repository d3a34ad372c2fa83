import { aPerson, faultAt, type Person } from "./market.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let person: Person;
beforeEach(async () => {
  world = await aWorld();
  person = aPerson(world);
});
afterEach(() => world.close());

const PLATFORM = "/marketplace/platform";
const send = (path: string, form: Record<string, string> = {}) => person.send(PLATFORM + path, form);
const hoursAhead = () => Math.round((Date.parse(world.control.state().now) - Date.now()) / 3_600_000) + 0;

describe("the clock's form", () => {
  it("advances the clock by 8 hours: every access token has expired", async () => {
    const { addon } = await world.installed();
    const page = await send("/clock", { hours: "8" });
    expect([hoursAhead(), world.control.addon(addon.id).tokens]).toMatchObject([8, [{ state: "expired" }]]);
    expect(page.text).toContain("ahead by 8 hours");
  });

  it.each(["", "soon", "1e300", "-99999999"])("refuses %p with a message", async (hours) => {
    const page = await send("/clock", { hours });
    expect([page.status, faultAt(page, "clock-hours")]).toEqual([422, expect.stringMatching(/must/)]);
    expect(hoursAhead()).toBe(0);
  });
});

describe("the client secret's form", () => {
  it("resets it, and shows the new one once", async () => {
    const { addon } = await world.installed();
    const before = world.sandbox.settings.clientSecret;
    const response = await fetch(`${world.sandbox.url}${PLATFORM}/client-secret`, {
      method: "POST",
      body: new URLSearchParams(),
      headers: { origin: world.sandbox.url },
      redirect: "manual",
    });
    const next = response.headers.get("location")!;
    const secret = world.sandbox.settings.clientSecret;
    expect([response.status, secret === before, world.control.addon(addon.id).tokens]).toMatchObject([
      ...[303, false],
      [{ state: "revoked" }],
    ]);
    expect(next).not.toContain(secret);
    expect((await person.visit(next)).html).toContain(secret);
    expect((await person.visit(next)).html).not.toContain(secret);
  });
});

describe("the faults' form", () => {
  it("adds a fault, which is listed until it is used or cleared", async () => {
    const page = await send("/faults", { call: "> POST /resources", kind: "lost", times: "2" });
    const fault = { match: "> POST /resources", times: 2, action: { reset: "after" } };
    expect(world.control.faults()).toEqual([fault]);
    expect(page.text).toContain("2 times");
    await send("/faults/clear");
    expect(world.control.faults()).toEqual([]);
  });

  it("loses an answer: the service has done its work, and the platform has no answer", async () => {
    await send("/faults", { call: "> POST /resources", kind: "lost", times: "1" });
    world.control.createApp({ name: "shop" });
    const page = await person.send("/marketplace/apps/shop/install", { plan: "basic" });
    expect(page.text).toContain("there was no answer");
    expect([world.partner.requests.length, world.control.state().addons[0]!.state]).toEqual([
      1,
      "deprovisioned",
    ]);
  });

  it.each([
    ["times", { times: "0" }],
    ["times", { times: "often" }],
    ["kind", { kind: "constructor" }],
    ["call", { call: "POST /elsewhere" }],
  ])("shows at %s that %p is wrong", async (field, wrong) => {
    const form = { call: "POST /oauth/token", kind: "cut", times: "1", ...wrong } as Record<string, string>;
    const page = await send("/faults", form);
    expect([page.status, faultAt(page, `fault-${field}`)]).toEqual([422, expect.any(String)]);
    expect(world.control.faults()).toEqual([]);
  });
});

describe("the incidents' form", () => {
  const feed = async () =>
    (await (await fetch(`${world.sandbox.url}/api/v4/current-status`)).json()) as {
      status: { system: string; status: string }[];
      incidents: { title: string }[];
      scheduled: { title: string }[];
    };

  it("opens an incident in the status feed, and resolves it", async () => {
    const form = { title: "Config is slow", contents: "We look into it.", kind: "incident", system: "Tools" };
    const page = await send("/incidents", form);
    expect(await feed()).toMatchObject({
      status: [{}, {}, { system: "Tools", status: "yellow" }],
      incidents: [{ title: "Config is slow" }],
    });
    const [, resolve] = /action="([^"]*\/resolve)"/.exec(page.html)!;
    await person.send(resolve!, {});
    expect((await feed()).incidents).toEqual([]);
    const again = await person.send(resolve!, {});
    expect([again.status, again.text]).toEqual([409, expect.stringContaining("resolved already")]);
  });

  it.each([
    ["title", { title: " " }],
    ["kind", { kind: "party" }],
  ])("shows at %s that %p is wrong", async (field, wrong) => {
    const page = await send("/incidents", { title: "Slow", kind: "incident", system: "Apps", ...wrong });
    expect([page.status, faultAt(page, `incident-${field}`)]).toEqual([422, expect.any(String)]);
    expect((await feed()).incidents).toEqual([]);
  });
});

it("the reset form forgets everything", async () => {
  await world.installed();
  await send("/reset");
  expect(world.control.state()).toMatchObject({ apps: [], addons: [] });
});

describe("the ledger's page", () => {
  it("shows every call in both directions, as a diagram and as a list, with request and answer", async () => {
    await world.installed();
    for (const path of ["/marketplace/ledger", "/marketplace/ledger?view=list"]) {
      const { text } = await person.visit(path);
      for (const words of ["POST /resources", "POST /oauth/token", "HTTP 200", "oauth_grant", "grant_type"])
        expect(text).toContain(words);
    }
  });

  it("escapes what the service sends", async () => {
    world.partner.answers({ status: 422, body: { id: "<b>", message: "<script>alert(1)</script>" } });
    await world.control.install();
    const { html, text } = await person.visit("/marketplace/ledger");
    expect(html).not.toContain("<script>alert");
    expect(text).toContain("<script>alert(1)</script>");
  });
});
