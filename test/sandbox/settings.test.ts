import { settingsFromEnvironment } from "../../sandbox/settings.ts";

it("The command reads its settings from the environment, and leaves out what is not set", () => {
  const environment = {
    SANDBOX_PORT: "4100",
    PARTNER_URL: "http://localhost:3100",
    RESOURCES_PATH: "/v2/resources",
    ADDON_MANIFEST: '{"id": "widgets", "plans": [{"name": "basic"}]}',
    SSO_SALT: "",
  };
  expect(settingsFromEnvironment(environment)).toEqual({
    port: 4100,
    partnerUrl: "http://localhost:3100",
    resourcesPath: "/v2/resources",
    addonManifest: { id: "widgets", plans: [{ name: "basic" }] },
  });
});

it.each([
  ["SANDBOX_PORT", "http"],
  ["PARTNER_URL", "localhost:3000"],
  ["RESOURCES_PATH", "resources"],
  ["ADDON_MANIFEST", "{"],
  ["ADDON_MANIFEST", "/nowhere/manifest.json"],
  ["ADDON_MANIFEST", '{"id": "widgets", "plans": 5}'],
])("A bad %s is refused by its name: %s", (variable, value) => {
  expect(() => settingsFromEnvironment({ [variable]: value })).toThrow(variable);
});
