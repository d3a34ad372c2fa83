import { describe, expect, it } from "@jest/globals";
import { effectiveManifest } from "../../src/manifest/effective.ts";
import type { Manifest } from "../../src/manifest/schema.ts";

const base = {
  $schema: "./app.schema.json",
  name: "Bookshop",
  env: { COLOUR: "red", SECRET_KEY: { generator: "secret" } },
  addons: ["postgresql", { plan: "redis", as: "CACHE" }],
  scripts: { postdeploy: { command: "bin/setup", size: "small" } },
} satisfies Manifest;

describe("the manifest of an environment", () => {
  const manifest: Manifest = {
    ...base,
    environments: {
      test: { env: { COLOUR: "blue" }, addons: [], scripts: {} },
      review: { formation: { web: { quantity: 1 } } },
    },
  };

  it("replaces each key of the environment as a whole, also by an empty value", () => {
    expect(effectiveManifest(manifest, "test")).toEqual({
      name: "Bookshop",
      env: { COLOUR: "blue" },
      addons: [],
      scripts: {},
    });
  });

  it("keeps the keys that the environment does not override", () => {
    const { name, env, addons, scripts } = base;
    expect(effectiveManifest(manifest, "review")).toEqual({
      ...{ name, env, addons, scripts },
      formation: { web: { quantity: 1 } },
    });
  });

  it.each([undefined, "test", "review"] as const)(
    "is the app's own without environments or overrides: %s",
    (environment) => {
      const { $schema: _, ...app } = base;
      expect(effectiveManifest(environment ? base : manifest, environment)).toEqual(app);
      expect(effectiveManifest({ ...base, environments: { test: {}, review: {} } }, environment)).toEqual(
        app,
      );
    },
  );

  it("has no environments key and no key for editors, even if the environment names some", () => {
    const review = { $schema: 5, stack: "newest", environments: { test: {} } };
    expect(effectiveManifest({ environments: { review } }, "review")).toEqual({ stack: "newest" });
  });

  it("does not modify the original", () => {
    const before = structuredClone(manifest);
    effectiveManifest(manifest, "test");
    expect(manifest).toEqual(before);
  });
});
