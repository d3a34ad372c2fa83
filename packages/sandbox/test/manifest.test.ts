import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSandbox } from "../index.ts";
import { success } from "./partner.ts";
import { aWorld, manifest as addonManifest, type TestWorld } from "./world.ts";

const teapots = {
  ...addonManifest,
  plans: [{ name: "basic" }, { name: "premium" }, { name: "tiny" }],
  default_plan: "basic",
  ephemeral_plan: "tiny",
};

interface App {
  id: string;
  name: string;
  message?: string;
  stack: { name: string };
  web_url: string;
  config_vars: string[];
  addons: { id: string; plan: string; state: string }[];
  destroyed_at: string | null;
  setup: {
    state: string;
    success_url: string | null;
    formation: unknown[];
    process_types_from: string | null;
    foreign_addons: unknown[];
    warnings: string[];
    steps: { step: string; addon?: string; plan?: string; as?: string; command?: string; size?: string }[];
  };
}

let world: TestWorld;
beforeEach(async () => void (world = await aWorld({ addonManifest: teapots })));
afterEach(() => world.close());

async function control(method: string, path: string, json?: unknown) {
  const init = json === undefined ? {} : { body: JSON.stringify(json) };
  const response = await fetch(`${world.sandbox.url}/sandbox${path}`, { method, ...init });
  return { status: response.status, body: (await response.json()) as App };
}
const create = (manifest: unknown, wish: object = {}) => control("POST", "/apps", { manifest, ...wish });
const varsOf = (app: string) => world.control.configVars(app);
const stepsOf = ({ setup }: App) => setup.steps.map(({ step }) => step);
const asked = (index = 0) => JSON.parse(world.partner.requests[index]!.body) as Record<string, unknown>;

it("creating an app processes its manifest: config vars, add-ons, deploy, postdeploy, in this order", async () => {
  const { status, body } = await create(
    {
      name: "Shop",
      description: "Sells things",
      keywords: ["shop"],
      env: { GREETING: "Hello" },
      addons: ["widgets:premium"],
      scripts: { postdeploy: "npm run seed" },
    },
    { name: "my-shop" },
  );
  expect(status).toBe(201);
  expect(body).toMatchObject({
    name: "my-shop",
    config_vars: ["GREETING", "WIDGET_URL"],
    addons: [{ plan: "premium", state: "provisioned" }],
    setup: {
      state: "deployed",
      name: "Shop",
      description: "Sells things",
      keywords: ["shop"],
      steps: [
        { step: "addon", addon: "widgets", plan: "premium", as: "WIDGETS" },
        { step: "deploy" },
        { step: "postdeploy", command: "npm run seed", size: "standard" },
      ],
    },
  });
  expect(asked()).toMatchObject({ uuid: body.addons[0]!.id, plan: "premium" });
  expect((await control("GET", "/apps/my-shop")).body).toEqual(body);
  expect(varsOf("my-shop")).toEqual({ GREETING: "Hello", WIDGET_URL: "https://w.example.com" });
});

it("a redeploy does not read the manifest, and does not run postdeploy again", async () => {
  await create({ env: { A: "1" }, addons: ["widgets"], scripts: { postdeploy: "seed" } }, { name: "shop" });
  const { status, body } = await control("POST", "/apps/shop/deploys", { manifest: { env: { B: "2" } } });
  expect([status, stepsOf(body)]).toEqual([201, ["addon", "deploy", "postdeploy", "deploy"]]);
  expect(varsOf("shop")).toMatchObject({ A: "1" });
  expect(varsOf("shop")).not.toHaveProperty("B");
  expect(world.partner.requests).toHaveLength(1);
});

describe("an invalid manifest is refused with the place, and nothing is created", () => {
  it.each<[string, unknown, RegExp]>([
    ["a name of 31 characters", { name: "a".repeat(31) }, /\/name must have at most 30 characters/],
    ["keywords that are no array", { keywords: "shop" }, /\/keywords must be an array/],
    ["a value that is no string", { env: { A: { value: 1 } } }, /\/env\/A\/value must be a string/],
    ["a number for a config var", { env: { A: 1 } }, /\/env\/A must be a string or an object/],
    ["required that is no boolean", { env: { A: { required: "no" } } }, /\/env\/A\/required must be true or/],
    ["another generator", { env: { A: { generator: "uuid" } } }, /\/env\/A\/generator may only be secret/],
    ["a name of no config var", { env: { "A/=~": "x" } }, /\/env\/A~1=~0 must be a config var's name/],
    ["a negative quantity", { formation: { web: { quantity: -1 } } }, /\/formation\/web\/quantity must be/],
    ["addons that are no array", { addons: {} }, /\/addons must be an array/],
    ["an add-on without a plan", { addons: [{ as: "A" }] }, /\/addons\/0\/plan is missing/],
    ["a plan of three parts", { addons: ["a:b:c"] }, /\/addons\/0 must be addon or addon:plan/],
    [
      "one name for two",
      {
        addons: [
          { plan: "a", as: "A" },
          { plan: "b", as: "a" },
        ],
      },
      /\/addons\/1\/as is there/,
    ],
    ["a plan that is not sold", { addons: ["widgets:huge"] }, /no plan huge/],
    ["a buildpack without a url", { buildpacks: [{}] }, /\/buildpacks\/0\/url is missing/],
    [
      "a script without a command",
      { scripts: { postdeploy: { size: "l" } } },
      /postdeploy\/command is missing/,
    ],
    ["a third environment", { environments: { production: {} } }, /production may only be test or review/],
    [
      "a fault in an environment",
      { environments: { test: { env: [] } } },
      /\/environments\/test\/env must be/,
    ],
    ["no object", ["env"], /manifest: must be a JSON object/],
  ])("%s", async (_what, manifest, message) => {
    const { status, body } = await create(manifest);
    expect([status, body.message]).toEqual([422, expect.stringMatching(message)]);
    expect(world.control.state()).toMatchObject({ apps: [], addons: [] });
    expect(world.partner.requests).toHaveLength(0);
  });
});

it("a name of 30 characters and unknown keys are accepted, the latter with a warning", async () => {
  const { status, body } = await create({ name: "é".repeat(30), engines: {}, scripts: { lint: "x" } });
  expect(status).toBe(201);
  expect(body.setup.warnings.join(" ")).toMatch(/\/engines is not known.*\/scripts\/lint is not known/);
  expect(stepsOf(body)).toEqual(["deploy"]);
});

describe("config vars of a manifest", () => {
  it("come from the user, the generator, the default, or the string itself", async () => {
    const env = {
      PLAIN: "as it is",
      DEFAULT: { description: "A default", value: "given" },
      SECRET: { generator: "secret" },
      ASKED: { description: "Only the person knows it" },
      LEFT_OUT: { required: false },
    };
    const { body } = await create({ env }, { env: { ASKED: "filled in", DEFAULT: "changed" } });
    expect(varsOf(body.id)).toEqual({
      PLAIN: "as it is",
      DEFAULT: "changed",
      ASKED: "filled in",
      SECRET: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    const other = await create({ env: { SECRET: { generator: "secret" } } });
    expect(varsOf(other.body.id)["SECRET"]).not.toBe(varsOf(body.id)["SECRET"]);
    expect(JSON.stringify(body)).not.toContain("filled in");
  });

  it("that are required and have no value are named, and no app is created", async () => {
    const env = { A: {}, B: { required: true }, C: { required: false }, D: { value: "" } };
    const { status, body } = await create({ env, addons: ["widgets"] }, { env: { B: "b" } });
    expect([status, body.message]).toEqual([422, expect.stringMatching(/no value: \/env\/A\./)]);
    expect(world.control.state().apps).toEqual([]);
    expect(world.partner.requests).toHaveLength(0);
  });

  it("are masked in the ledger, whoever reads or changes them", async () => {
    const { body } = await create({ env: { A: "a-secret-of-the-app" } });
    const { token } = world.control.userToken();
    const path = `/apps/${body.id}/config-vars`;
    expect(await world.call(token, path)).toMatchObject({ body: { A: "a-secret-of-the-app" } });
    await world.call(token, path, { method: "PATCH", json: { B: "another-secret", A: null } });
    const { entries } = world.control.ledger();
    expect(JSON.stringify(entries)).not.toMatch(/a-secret-of-the-app|another-secret/);
    expect(entries.at(-1)).toMatchObject({ request: { body: { A: null, B: "[secret]" } } });
    expect(JSON.stringify(world.control.ledger({ reveal: true }))).toContain("another-secret");
  });
});

describe("add-ons of a manifest", () => {
  it("have three forms, with the add-on's default plan unless one is given", async () => {
    const options = { version: "2", verbose: true };
    const { body } = await create({
      addons: ["widgets", "widgets:premium", { plan: "widgets:premium", as: "SPARE", options }],
    });
    const wanted = body.setup.steps.filter(({ step }) => step === "addon").map(({ plan, as }) => [plan, as]);
    expect(wanted).toEqual([
      ["basic", "WIDGETS"],
      ["premium", "WIDGETS_TEAL"],
      ["premium", "SPARE"],
    ]);
    expect([asked(0)["plan"], asked(0)["options"], asked(2)["options"]]).toEqual(["basic", {}, options]);
    const { body: attachments } = await world.call<{ name: string }[]>(
      (await world.exchange(world.lastCode())).body.access_token,
      `/addons/${body.addons[2]!.id}/addon-attachments`,
    );
    expect(attachments.map(({ name }) => name)).toEqual(["SPARE"]);
  });

  it.each(["test", "review"])(
    "of a %s app get the ephemeral plan, whatever was asked for",
    async (environment) => {
      const { body } = await create({ addons: ["widgets:premium", "widgets:huge"] }, { environment });
      expect(body.addons.map(({ plan }) => plan)).toEqual(["tiny", "tiny"]);
      expect(asked()["plan"]).toBe("tiny");
      const byHand = await control("POST", `/apps/${body.id}/addons`, { plan: "premium" });
      expect(byHand.body).toMatchObject({ addon: { plan: { name: "widgets:tiny" } } });
      const before = await control("POST", `/apps/${body.id}/addons`, { plan: "premium", silent: true });
      expect(before.body).toMatchObject({ addon: { plan: { name: "widgets:tiny" } } });
    },
  );

  it("of other services are recorded, each with a config var", async () => {
    const addons = [{ plan: "postgresql:small", as: "DATABASE" }, "in-memory-store"];
    const { body } = await create({ addons });
    expect(body.setup.foreign_addons).toEqual([
      { service: "postgresql", plan: "small", as: "DATABASE", options: {}, config_vars: ["DATABASE_URL"] },
      {
        service: "in-memory-store",
        plan: null,
        as: "IN_MEMORY_STORE",
        options: {},
        config_vars: ["IN_MEMORY_STORE_URL"],
      },
    ]);
    expect(varsOf(body.id)["DATABASE_URL"]).toMatch(
      /^postgresql:\/\/user:\w+@postgresql\.invalid\/database$/,
    );
    expect(world.partner.requests).toHaveLength(0);
  });

  it("that are refused cancel the app and earlier add-ons", async () => {
    world.partner.answers((request) => {
      const isSecond = world.partner.requests.filter(({ method }) => method === "POST").length === 2;
      const refusal = { status: 422, body: { id: "full", message: "All teapots are sold." } };
      return isSecond && request.method === "POST" ? refusal : success(request);
    });
    const { status, body } = await create({ addons: ["widgets", "widgets:premium"] }, { name: "shop" });
    expect([status, body.message]).toEqual([422, expect.stringMatching(/not created: All teapots are sold/)]);
    const { apps, addons } = world.control.state();
    expect(apps).toEqual([]);
    expect(addons.map(({ state }) => state)).toEqual(["deprovisioned", "deprovisioned"]);
    const calls = world.partner.requests.map(({ method, path }) => `${method} ${path}`);
    expect(calls).toEqual(["POST /resources", "POST /resources", `DELETE /resources/${addons[0]!.id}`]);
    world.partner.answers(success);
    expect(await create({}, { name: "shop" })).toMatchObject({ status: 201 });
  });

  describe("that answer later", () => {
    let app: App;
    let token: string;
    beforeEach(async () => {
      world.partner.answers({ status: 202, body: { id: "p-1", message: "Soon." } });
      app = (await create({ addons: ["widgets"], scripts: { postdeploy: "seed" } })).body;
      token = (await world.exchange(world.lastCode())).body.access_token;
    });
    const now = async () => (await control("GET", `/apps/${app.id}`)).body;

    it("delay the deploy", async () => {
      expect([app.setup.state, stepsOf(app)]).toEqual(["waiting", ["addon"]]);
      await world.call(token, `/addons/${app.addons[0]!.id}/actions/provision`, { method: "POST" });
      expect(await now()).toMatchObject({ setup: { state: "deployed" } });
      expect(stepsOf(await now())).toEqual(["addon", "deploy", "postdeploy"]);
    });

    it("are done when a repeated provision is answered with 200", async () => {
      world.partner.answers({ status: 200, body: { id: "p-1" } });
      await world.control.redeliver(app.addons[0]!.id);
      expect(await now()).toMatchObject({ setup: { state: "deployed" } });
      expect(world.control.addon(app.addons[0]!.id)).not.toHaveProperty("provision_message");
    });

    it("and fail prevent the deploy", async () => {
      await world.call(token, `/addons/${app.addons[0]!.id}/actions/deprovision`, { method: "POST" });
      expect([(await now()).setup.state, stepsOf(await now())]).toEqual(["failed", ["addon"]]);
      expect(await control("POST", `/apps/${app.id}/deploys`)).toMatchObject({ status: 409 });
    });
  });
});

describe("an environment of a manifest", () => {
  const manifest = {
    env: { ONE: "base", TWO: "base" },
    scripts: { postdeploy: "base" },
    environments: { test: { env: { TWO: "test" } }, review: { addons: ["widgets"], scripts: {} } },
  };

  it("replaces each of its keys completely, and leaves the others", async () => {
    const base = (await create(manifest)).body;
    const test = (await create(manifest, { environment: "test" })).body;
    const review = (await create(manifest, { environment: "review" })).body;
    expect([varsOf(base.id), varsOf(test.id)]).toEqual([{ ONE: "base", TWO: "base" }, { TWO: "test" }]);
    expect([stepsOf(base), stepsOf(test)]).toEqual([
      ["deploy", "postdeploy"],
      ["deploy", "postdeploy"],
    ]);
    expect(stepsOf(review)).toEqual(["addon", "deploy"]);
    expect(varsOf(review.id)).toMatchObject({ ONE: "base", TWO: "base" });
  });
});

it("the formation has quantities and sizes; a missing size gets the default, with a warning", async () => {
  const { body } = await create({ formation: { web: { quantity: 2, size: "large" }, worker: {} } });
  expect(body.setup.formation).toEqual([
    { type: "web", quantity: 2, size: "large" },
    { type: "worker", quantity: 1, size: "standard" },
  ]);
  expect(body.setup.warnings.join()).toMatch(/give a size to worker/);
});

it.each([
  ["https://example.com/thanks", "https://example.com/thanks"],
  ["/welcome", expect.stringMatching(/^https:\/\/shop[^/]+\/welcome$/) as string],
  ["app://thanks", "app://thanks"],
  ["welcome", null],
  ["#TODO", null],
  ["https://", null],
  ["", null],
])("after the deploy the user is sent to a valid success_url: %s", async (success_url, expected) => {
  const { setup } = (await create({ success_url }, { name: "shop" })).body;
  expect(setup.success_url).toEqual(expected);
  const warned = expected === null ? [expect.stringMatching(/success_url.*nobody is sent there/)] : [];
  expect(setup.warnings).toEqual(warned);
});

describe("destroying an app", () => {
  const manifest = {
    addons: ["widgets"],
    scripts: { "pr-predestroy": { command: "npm run clean", size: "small" } },
  };

  it("runs pr-predestroy first for a review app, and deprovisions its add-ons by a real call", async () => {
    const { id, addons } = (await create(manifest, { environment: "review", name: "pr-7" })).body;
    const { body } = await control("DELETE", `/apps/${id}`);
    expect(stepsOf(body)).toEqual(["addon", "deploy", "pr-predestroy", "destroy"]);
    expect(body.setup.steps[2]).toMatchObject({ command: "npm run clean", size: "small" });
    expect(body.destroyed_at).not.toBeNull();
    const last = world.partner.requests.at(-1)!;
    expect([last.method, last.path]).toEqual(["DELETE", `/resources/${addons[0]!.id}`]);
    expect(world.control.state()).toMatchObject({ apps: [], addons: [{ state: "deprovisioned" }] });
    expect(await control("GET", `/apps/${id}`)).toMatchObject({ status: 404 });
    expect(await control("POST", "/apps", { name: "pr-7" })).toMatchObject({ status: 201 });
  });

  it("removes it for its owner and for partners, whatever its add-ons answer", async () => {
    const { id, addons } = (await create({ addons: ["widgets"] }, { team: "makers" })).body;
    const { access_token } = (await world.exchange(world.lastCode())).body;
    const { token } = world.control.userToken();
    world.partner.answers({ status: 500, body: { id: "oops", message: "Oops." } });
    await control("DELETE", `/apps/${id}`);
    for (const each of [token, access_token])
      expect(await world.call(each, `/apps/${id}`)).toMatchObject({ status: 404 });
    expect(await world.call(token, "/apps")).toMatchObject({ status: 200, body: [] });
    expect(world.control.state().addons).toMatchObject([{ state: "deprovisioning" }]);
    world.partner.answers(success);
    expect(await control("DELETE", `/addons/${addons[0]!.id}`)).toMatchObject({ status: 200 });
  });
});

it("an app keeps its manifest across a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbox-"));
  const statePath = join(folder, "state.json");
  const given = { statePath, partnerUrl: world.partner.url, addonManifest: teapots };
  const before = await startSandbox(given);
  const app = await before.control.createAppFromManifest({
    manifest: { env: { A: "1" }, addons: ["widgets"] },
  });
  const gone = await before.control.createAppFromManifest({ name: "gone" });
  await before.control.destroyApp(gone.id);
  await before.close();
  const after = await startSandbox(given);
  expect(JSON.parse(JSON.stringify(after.control.app(app.id)))).toEqual(JSON.parse(JSON.stringify(app)));
  expect(after.control.createApp({ name: "gone" }).name).toBe("gone");
  await after.close();
  rmSync(folder, { recursive: true });
});
