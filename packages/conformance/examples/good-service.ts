import { startExample } from "./service/service.ts";

// The example as a process. Its settings come from the environment, with the same names as the kit's.

const { PORT, ADDON_ID, ADDON_PASSWORD, CLIENT_SECRET, SSO_SALT, PLATFORM_API_URL, PLATFORM_AUTH_URL } =
  process.env;
const { url, close } = await startExample({
  port: Number(PORT ?? 3000),
  addonId: ADDON_ID ?? "example",
  addonPassword: ADDON_PASSWORD ?? "",
  clientSecret: CLIENT_SECRET ?? "",
  ssoSalt: SSO_SALT || null,
  platformApiUrl: PLATFORM_API_URL ?? "http://127.0.0.1:4000",
  platformAuthUrl: PLATFORM_AUTH_URL ?? "http://127.0.0.1:4000",
});
console.log(`The example listens on ${url}.`);
process.once("SIGTERM", () => void close());
