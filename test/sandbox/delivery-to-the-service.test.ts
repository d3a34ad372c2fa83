import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

/** Faults and late answers of the sandbox, with the service of this kit. */
const life = opened(() => aLifecycle());

describe("an app created from a manifest, with the real service", () => {
  it("has its add-ons before the deploy, also those that take time", async () => {
    const app = await life.control.createAppFromManifest({
      manifest: {
        addons: ["teapots:premium", { plan: "teapots:dedicated", as: "SPARE" }],
        scripts: { postdeploy: "seed" },
      },
    });
    const spare = app.addons.find(({ plan }) => plan === "dedicated")!;
    expect(app.setup?.state).toBe("waiting");
    await eventually(async () => {
      await life.hurry(spare.id);
      expect(life.control.app(app.id).setup?.state).toBe("deployed");
    });
    const { setup, config_vars } = life.control.app(app.id);
    expect(setup?.steps.map(({ step }) => step)).toEqual(["addon", "addon", "deploy", "postdeploy"]);
    expect(config_vars).toEqual(expect.arrayContaining(["TEAPOT_URL", "TEAPOT_TOKEN"]));
    await life.control.destroyApp(app.id);
    for (const { id } of app.addons)
      expect(await life.resource(id)).toMatchObject({ state: "deprovisioned" });
  });

  it("for review has the service's ephemeral plan", async () => {
    const manifest = { addons: ["teapots:dedicated"] };
    const { addons } = await life.control.createAppFromManifest({ manifest, environment: "review" });
    expect(await life.resource(addons[0]!.id)).toMatchObject({ plan: "basic", state: "provisioned" });
  });
});

it("a provision that the platform gives up after 12 hours is deprovisioned at the service", async () => {
  life.vendor.next("finish", () => Promise.reject(new Error("The kiln is cold.")));
  const { addon } = await life.control.install({ plan: "dedicated" });
  expect(addon.state).toBe("provisioning");
  life.control.advanceClock(12 * 3600);
  await life.resourceBecomes(addon.id, { state: "deprovisioned" });
  life.vendor.asUsual();
  life.control.advanceClock(-12 * 3600);
});
