import { readEnvironment } from "../src/config.ts";
import { addonManifest } from "../src/operator/addon-manifest.ts";
import { offer } from "../src/your-service/plans.ts";

/**
 * `npm run sandbox`: the platform alone, for a service started by hand. It gets the credentials that the service reads
 * too (from the environment, `.env`, or what `npm run dev` made), and the add-on manifest of your plans.
 */
const shared = ["RESOURCES_PATH", "ADDON_ID", "ADDON_PASSWORD", "CLIENT_SECRET", "SSO_SALT"];
const known = readEnvironment();
const usual: Record<string, string> = {
  PARTNER_URL: `http://localhost:${known["PORT"] ?? "3000"}`,
  ADDON_MANIFEST: JSON.stringify(addonManifest(known["ADDON_ID"] ?? "teapots", offer)),
};
for (const name of [...shared, ...Object.keys(usual)]) process.env[name] ??= known[name] ?? usual[name] ?? "";

await import("../sandbox/main.ts");
