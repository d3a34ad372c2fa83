import { readFileSync } from "node:fs";
import { settingsFromEnvironment } from "../environment.ts";

it("README.md has every variable that is read, and no other", () => {
  const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const told = [...page.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name]) => name!);
  const read = new Set<string>();
  settingsFromEnvironment(new Proxy({}, { get: (_, name) => void read.add(String(name)) }));
  expect(told.sort()).toEqual([...read].sort());
});

it("the command reads its settings from the environment, and omits those that are not set", () => {
  const environment = {
    SANDBOX_PORT: "4100",
    SANDBOX_HOST: "0.0.0.0",
    SANDBOX_TOKEN: "a-token-of-these-tests",
    SANDBOX_CUSTOMER_API: "on",
    PARTNER_URL: "http://localhost:3100",
    RESOURCES_PATH: "/v2/resources",
    ADDON_MANIFEST: '{"id": "widgets", "plans": [{"name": "basic"}]}',
    SSO_SALT: "",
  };
  expect(settingsFromEnvironment(environment)).toEqual({
    port: 4100,
    host: "0.0.0.0",
    token: "a-token-of-these-tests",
    customerApi: true,
    partnerUrl: "http://localhost:3100",
    resourcesPath: "/v2/resources",
    addonManifest: { id: "widgets", plans: [{ name: "basic" }] },
  });
});

it("a manifest registers the service too, environment variables override it, and its secrets are kept separately", () => {
  const base_url = "https://addon.example.com:8443/v2/resources";
  const manifest = { id: "widgets", plans: [{ name: "basic" }], base_url };
  const ADDON_MANIFEST = JSON.stringify({
    ...manifest,
    password: "of-the-manifest",
    sso_salt: "salt-of-the-manifest",
  });
  const registered = {
    port: 4000,
    addonManifest: manifest,
    partnerUrl: "https://addon.example.com:8443",
    resourcesPath: "/v2/resources",
    addonPassword: "of-the-manifest",
    ssoSalt: "salt-of-the-manifest",
  };
  expect(settingsFromEnvironment({ ADDON_MANIFEST })).toEqual(registered);
  const others = { PARTNER_URL: "http://localhost:3100", ADDON_PASSWORD: "another" };
  expect(settingsFromEnvironment({ ADDON_MANIFEST, ...others })).toEqual({
    ...registered,
    partnerUrl: "http://localhost:3100",
    addonPassword: "another",
  });
});

it.each([
  ["SANDBOX_PORT", "http"],
  ["SANDBOX_TOKEN", "too-short"],
  ["SANDBOX_TOKEN", "long enough, but in words"],
  ["SANDBOX_CUSTOMER_API", "yes"],
  ["PARTNER_URL", "localhost:3000"],
  ["RESOURCES_PATH", "resources"],
  ["ADDON_MANIFEST", "{"],
  ["ADDON_MANIFEST", "/nowhere/manifest.json"],
  ["ADDON_MANIFEST", '{"id": "widgets", "plans": 5}'],
  ["ADDON_MANIFEST", '{"id": "widgets", "plans": [{"name": "basic"}], "base_url": "addon.example.com"}'],
  ["ADDON_MANIFEST", '{"id": "widgets", "plans": [{"name": "basic"}], "password": 5}'],
])("a bad %s is refused by its name: %s", (variable, value) => {
  expect(() => settingsFromEnvironment({ [variable]: value })).toThrow(variable);
});
