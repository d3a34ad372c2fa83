import { readFileSync } from "node:fs";
import { startSandbox } from "../../packages/sandbox/index.ts";
import { checkManifestText, effectiveManifest, type ManifestReport } from "../../src/manifest/check.ts";

// What the app.json that came with the kit means. Yours may mean something else: change or delete this file then.
const text = readFileSync(new URL("../../app.json", import.meta.url), "utf8");
const { manifest, faults } = checkManifestText(text) as Required<ManifestReport>;

describe("app.json", () => {
  it("breaks no rule of the platform's, and brings no warning", () => {
    expect(faults).toEqual([]);
  });

  it("needs nothing of ours in CI: tests bring their own world", () => {
    expect(effectiveManifest(manifest, "test")).toMatchObject({ env: {}, addons: [], scripts: {} });
  });

  it("lets no review app near the platform: every address there is nowhere", () => {
    const addresses = Object.entries(effectiveManifest(manifest, "review").env ?? {}).filter(([name]) =>
      name.startsWith("PLATFORM_"),
    );
    expect(addresses).toHaveLength(3);
    for (const [, about] of addresses)
      expect(about).toMatchObject({ value: expect.stringMatching(/^https:\/\/[a-z]+\.invalid$/) });
  });

  it("makes an app on the platform, in each environment", async () => {
    const { control, close } = await startSandbox();
    /** As a person fills in a form. */
    const filledIn = (environment?: "review" | "test") => {
      const asked = Object.entries(effectiveManifest(manifest, environment).env ?? {}).filter(
        ([, about]) =>
          typeof about === "object" && about.required !== false && !about.value && !about.generator,
      );
      return Object.fromEntries(asked.map(([name]) => [name, "filled-in"]));
    };
    const create = (wish: object) => control.createAppFromManifest({ manifest: JSON.parse(text), ...wish });
    try {
      await expect(create({})).rejects.toThrow("ADDON_PASSWORD");
      const app = await create({ env: filledIn() });
      expect(app.setup!.steps.map(({ step }) => step)).toEqual(["deploy", "postdeploy"]);
      expect(Object.keys(control.configVars(app.name))).toEqual(
        expect.arrayContaining(["ENCRYPTION_KEY", "DATABASE_URL"]),
      );
      for (const environment of ["review", "test"] as const)
        await create({ environment, env: filledIn(environment) });
    } finally {
      await close();
    }
  });
});
