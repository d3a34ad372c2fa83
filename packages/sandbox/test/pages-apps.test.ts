import { aPerson, faultAt, type Person } from "./market.ts";
import { success } from "./partner.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let person: Person;
beforeEach(async () => {
  world = await aWorld({ addonManifest: { ...manifest } });
  person = aPerson(world);
});
afterEach(() => world.close());

const manifest = {
  id: "widgets",
  plans: [{ name: "basic", price: { cents: 900, unit: "month" } }, { name: "premium" }],
  regions: ["us", "eu"],
};
const deep = `{"a": ${"[".repeat(200)}${"]".repeat(200)}}`;
const apps = () => world.control.state().apps;
const addons = () => world.control.state().addons;
const install = (app: string, form: Record<string, string>) =>
  person.send(`/marketplace/apps/${app}/install`, form);

describe("GET / of the sandbox", () => {
  it("shows an explanation and the offer", async () => {
    const { status, text } = await person.visit("/");
    expect(status).toBe(200);
    for (const words of ["No app yet", "No call yet", "widgets", "9.00 a month", world.partner.url])
      expect(text).toContain(words);
  });

  it("answers JSON to clients that do not ask for HTML", async () => {
    for (const accept of ["*/*", "application/json", "application/vnd.svc+json; version=3"]) {
      const response = await fetch(world.sandbox.url, { headers: { accept } });
      expect([accept, response.headers.get("content-type")]).toEqual([
        accept,
        expect.stringContaining("json"),
      ]);
    }
  });

  it("has error pages for unknown apps, add-ons and paths", async () => {
    for (const path of ["/marketplace/apps/nope", "/marketplace/addons/nope", "/marketplace/else"]) {
      const { status, text } = await person.visit(path);
      expect([path, status, text]).toEqual([path, 404, expect.stringContaining("There is no")]);
    }
  });
});

describe("the form that creates an app", () => {
  it("creates it as filled in, and leads to its page", async () => {
    const form = { name: "shop", region: "eu", generation: "newer", team: "kettles" };
    const page = await person.send("/marketplace/apps", form);
    expect([page.status, page.at]).toEqual([200, "/marketplace/apps/shop"]);
    expect(page.text).toContain("The app shop was created.");
    expect(apps()).toMatchObject([
      { name: "shop", region: { name: "eu" }, generation: { name: "newer" }, team: { name: "kettles" } },
    ]);
  });

  it.each([
    ["name", "a name in capitals", "Shop!", /Name must start with a letter/],
    ["team", "a team of one letter", "K", /A team's name has/],
    ["region", "a region that is not offered", "moon", /There is no region moon/],
    ["generation", "a strange generation", "middle", /no generation middle/],
    ["manifest", "what is no JSON", "{", /This is not JSON/],
    ["manifest", "what is no object", "[]", /in braces/],
    ["manifest", "a name that is no string", '{"name": 7}', /\/name/],
    ["manifest", "a pit of brackets", deep, /nested too deep/],
    ["env", "a line without a value", "GREETING", /Line 1 is not like NAME=VALUE/],
    ["environment", "a strange environment", "production", /must be one of/],
  ])(
    "shows at %s what is wrong with %s, keeps the input, and creates nothing",
    async (field, _what, value, fault) => {
      const page = await person.send("/marketplace/apps", { name: "kept-name", [field]: value });
      expect(page.status).toBeGreaterThanOrEqual(400);
      expect(faultAt(page, `create-app-${field}`)).toMatch(fault);
      expect(page.html).toContain(field === "name" ? 'value="Shop!"' : 'value="kept-name"');
      expect(page.text).toContain("That did not work.");
      expect(apps()).toEqual([]);
    },
  );

  const appJson = {
    env: { GREETING: { description: "What it says" }, SESSION: { generator: "secret" } },
    addons: [{ plan: "widgets:premium", as: "GADGET" }, "postgresql"],
    buildpacks: [{ url: "ruby" }],
  };

  it.each([
    ["pasted", (text: string) => ({ manifest: text })],
    ["uploaded", (text: string) => ({ manifest: "", file: new File([text], "app.json") })],
  ])("accepts an app.json that is %s, with config vars and add-ons", async (_how, given) => {
    const form = { name: "shop", env: "GREETING=good day\n", ...given(JSON.stringify(appJson)) };
    const page = await person.send("/marketplace/apps", form);
    expect([page.status, page.at]).toEqual([200, "/marketplace/apps/shop"]);
    expect(addons()).toMatchObject([{ plan: { name: "widgets:premium" }, state: "provisioned" }]);
    expect(world.control.configVars("shop")).toMatchObject({
      GREETING: "good day",
      WIDGET_URL: expect.any(String) as string,
    });
    for (const words of ["GADGET", "Result of its app.json", "buildpacks ruby"])
      expect(page.text).toContain(words);
    for (const name of ["GREETING", "SESSION"]) expect(page.text).toContain(`${name} set on the app`);
    for (const name of ["WIDGET_URL", "POSTGRESQL_URL"])
      expect(page.text).toContain(`${name} from an add-on`);
    expect(page.text).not.toContain("good day");
  });

  it("asks for required config vars, and shows the uploaded file", async () => {
    const file = new File([JSON.stringify(appJson)], "app.json");
    const page = await person.send("/marketplace/apps", { name: "shop", file });
    expect(faultAt(page, "create-app-env")).toContain("/env/GREETING");
    expect(page.html).toContain("widgets:premium");
    expect(apps()).toEqual([]);
  });

  it("creates nothing when an add-on is refused", async () => {
    world.partner.answers({ status: 422, body: { id: "no", message: "Sold out." } });
    const page = await person.send("/marketplace/apps", { manifest: '{"addons": ["widgets"]}' });
    expect([page.status, faultAt(page, "create-app-manifest")]).toEqual([
      422,
      expect.stringContaining("Sold out."),
    ]);
    expect(apps()).toEqual([]);
  });
});

describe("the form that installs the add-on", () => {
  beforeEach(() => void world.control.createApp({ name: "shop" }));

  it("sends the choices, and leads to the add-on with the service's answer", async () => {
    const page = await install("shop", {
      plan: "premium",
      options: "colour=blue\n\nsize = 3",
      region: "eu",
      as: "GADGET",
    });
    const [addon] = addons();
    expect(page.at).toBe(`/marketplace/addons/${addon!.name}`);
    expect(page.text).toContain("Provision: your service answered 200");
    expect(JSON.parse(world.partner.requests[0]!.body)).toMatchObject({
      plan: "premium",
      region: "eu",
      options: { colour: "blue", size: "3" },
    });
    expect(page.text).toContain("GADGET");
    expect((await person.visit("/marketplace/apps/shop")).text).toContain("WIDGET_URL");
  });

  it.each([
    ["plan", "huge", /no plan huge/],
    ["as", "gadget", /upper-case letters/],
    ["options", "blue", /Line 1 is not like/],
  ])("shows at %s what is wrong, without a call to the service", async (field, value, fault) => {
    const page = await install("shop", { plan: "basic", [field]: value });
    expect([page.status, faultAt(page, `install-${field}`)]).toEqual([422, expect.stringMatching(fault)]);
    expect([addons(), world.partner.requests]).toEqual([[], []]);
  });

  it("shows a refusal of the service with its message", async () => {
    world.partner.answers({ status: 422, body: { id: "no", message: "Not in this region." } });
    const page = await install("shop", { plan: "basic" });
    expect(page.text).toContain("answered 422");
    expect(page.text).toContain("“Not in this region.”");
    expect(addons()).toMatchObject([{ state: "deprovisioned" }]);
  });

  it("does not wait for a slow service: the answer appears later", async () => {
    let answerNow = () => {};
    const isAsked = new Promise<void>((asked) =>
      world.partner.answers(async (request) => {
        asked();
        await new Promise<void>((resolve) => (answerNow = resolve));
        return success(request);
      }),
    );
    const page = await install("shop", { plan: "basic" });
    await isAsked;
    expect(page.text).toContain("has not answered yet");
    expect(addons()).toMatchObject([{ state: "provisioning" }]);
    answerNow();
    const path = page.at;
    while (world.control.ledger().entries.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await person.visit(path)).text).toContain("your service accepted");
  });
});

describe("the forms that deploy and destroy an app", () => {
  it("deprovision its add-ons and remove it", async () => {
    world.control.createApp({ name: "shop" });
    await install("shop", { plan: "basic" });
    const page = await person.send("/marketplace/apps/shop/destroy", {});
    expect([page.at, apps()]).toEqual(["/", []]);
    expect(addons()).toMatchObject([{ state: "deprovisioned" }]);
  });
});
