import "./no-inspector.ts";
import { runSandbox } from "../packages/sandbox/command.ts";
import { readRegistration } from "../packages/sandbox/registration.ts";
import { readChosenEnvironment, readEnvironment } from "../src/environment.ts";
import { addonManifest } from "../src/offer.ts";
import { exitWith } from "../src/process/run-process.ts";
import { addonId, offer } from "../src/your-service/plans.ts";

// `npm run sandbox`: the platform alone, for a service that is started by hand. It uses the same credentials as the
// service (from the environment, `.env`, or the file of `npm run dev`) and the add-on manifest of your plans. If
// `ADDON_MANIFEST` is set, its values take precedence over generated credentials.

const shared = ["RESOURCES_PATH", "ADDON_ID", "ADDON_PASSWORD", "CLIENT_SECRET", "SSO_SALT"];
try {
  await runSandbox(sandboxEnvironment(), process.argv.slice(2));
} catch (error) {
  exitWith(error);
}

function sandboxEnvironment(): NodeJS.ProcessEnv {
  const known = readEnvironment();
  const usual: Record<string, string> = {
    PARTNER_URL: `http://localhost:${known["PORT"] ?? "3000"}`,
    ADDON_MANIFEST: JSON.stringify(addonManifest(known["ADDON_ID"] ?? addonId, offer)),
  };
  const chosen = readChosenEnvironment();
  const registered = namesIn(known["ADDON_MANIFEST"]);
  const ofPartner = [...shared, ...Object.keys(usual)].map((name) => [
    name,
    chosen[name] ?? (registered.includes(name) ? "" : (known[name] ?? usual[name] ?? "")),
  ]);
  return { ...known, ...(Object.fromEntries(ofPartner) as NodeJS.ProcessEnv) };
}

/** The settings that a manifest contains. If it cannot be read, the sandbox reports that. */
function namesIn(manifest: string | undefined): string[] {
  if (!manifest) return [];
  try {
    const { partnerUrl, addonPassword, ssoSalt } = readRegistration(manifest);
    const members = { PARTNER_URL: partnerUrl, ADDON_PASSWORD: addonPassword, SSO_SALT: ssoSalt };
    return ["ADDON_ID", ...Object.entries(members).flatMap(([name, value]) => (value ? [name] : []))];
  } catch {
    return [];
  }
}
