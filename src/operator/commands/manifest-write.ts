import type { Command } from "commander";
import { madeUpNames } from "../../environment.ts";
import { Misconfigured } from "../../errors.ts";
import type { AddonManifest, Addresses } from "../addon-manifest.ts";
import { examples, type Act } from "./command.ts";
import type { Host } from "./host.ts";
import type { Outcome } from "./outcome.ts";
import { writeOutput } from "./output-file.ts";
import type { Session } from "./session.ts";
import { counted, wrapped } from "./text.ts";

interface Options {
  reveal?: boolean;
  overwrite?: boolean;
}

/** The secrets that the platform and the service share; only with --reveal. */
interface Secrets {
  password?: string;
  sso_salt?: string;
}

type Registration = AddonManifest & Addresses & Secrets;

/** `kit manifest write`, a subcommand of `manifest`. */
export function addWrite(manifest: Command, act: Act): void {
  manifest
    .command("write")
    .argument("[file]", "where to; without one, or for -, to standard output")
    .option("--reveal", "with ADDON_PASSWORD and SSO_SALT: the file is for your eyes only")
    .option("--overwrite", "replace a file that exists")
    .description("write the add-on's own manifest, which registers it with the platform")
    .addHelpText(
      "after",
      `${examples("kit manifest write", "kit manifest write addon-manifest.json --reveal")}

It is made of src/your-service/plans.ts and of ADDON_ID, PUBLIC_URL,
RESOURCES_PATH and SSO_SALT. Without --reveal it holds no secret, and may be
committed and compared.`,
    )
    .action(act(write));
}

async function write(
  session: Session,
  file: string | undefined,
  { reveal = false, overwrite = false }: Options,
): Promise<Outcome> {
  const manifest = await registrationFrom(session, reveal);
  if (file === undefined || file === "-") {
    if (reveal) session.say("It holds the add-on's secrets: let it pass through nobody else's hands.");
    return { data: manifest, show: () => asText(manifest) };
  }
  await writeOutput(file, `${asText(manifest)}\n`, { isSecret: reveal, overwrite });
  const secrets = ["password", "sso_salt"].filter((name) => name in manifest);
  return {
    data: { written: file, secrets },
    show: ({ columns }) =>
      [`${file}: ${inWords(manifest)}`, whatNow(manifest)].map((each) => wrapped(each, columns)).join("\n"),
  };
}

async function registrationFrom(session: Session, reveal: boolean): Promise<Registration> {
  const { addonManifest, addressesOf } = await import("../addon-manifest.ts");
  if (reveal) refuseMadeUp(session.host);
  const secret = reveal ? (["addonPassword"] as const) : [];
  const config = session.settings(["addonId", "publicUrl", "resourcesPath", "ssoSalt", ...secret]);
  const { addonId, publicUrl, resourcesPath, addonPassword: password, ssoSalt: salt } = config;
  if (publicUrl === undefined) {
    throw new Misconfigured(
      "PUBLIC_URL is required here: the address at which the platform reaches us, like https://addon.example.com",
    );
  }
  if (!publicUrl.startsWith("https:"))
    session.say(
      "PUBLIC_URL is not https: on the way, anybody could read the password that it is called with.",
    );
  return {
    ...addonManifest(addonId, await session.offer()),
    ...addressesOf({ publicUrl, resourcesPath, hasSignOn: salt !== undefined }),
    ...(reveal && { password: password.reveal(), ...(salt && { sso_salt: salt.reveal() }) }),
  };
}

/**
 * Refuses secrets that `npm run dev` made up: the platform would use them, and the production service would refuse its
 * calls.
 */
function refuseMadeUp(host: Host): void {
  const shared = ["ADDON_ID", "ADDON_PASSWORD", "SSO_SALT"];
  const names = madeUpNames(host.env, host.cwd()).filter((name) => shared.includes(name));
  if (names.length === 0) return;
  const [were, those] = names.length > 1 ? ["were", "those"] : ["was", "the one"];
  throw new Misconfigured(
    `${names.join(", ")} ${were} not set by you: npm run dev made ${names.length > 1 ? "them" : "it"} up for the sandbox. ` +
      `Set ${those} of your service in the environment or in .env, and write the manifest again.`,
  );
}

const asText = (manifest: Registration) => JSON.stringify(manifest, null, 2);

function inWords({ id, plans, regions, config_vars: vars, base_url: url }: Registration): string {
  const parts = [
    counted(plans.length, "plan"),
    counted(regions.length, "region"),
    counted(vars.length, "config var"),
  ];
  return `the add-on ${id} at ${url}, with ${parts.join(", ")}.`;
}

function whatNow({ password, sso_url: signOn }: Registration): string {
  const noSignOn = signOn ? "" : " Customers cannot sign on: SSO_SALT is not set.";
  if (password === undefined)
    return `No secret is in it: --reveal puts in what the platform needs.${noSignOn}`;
  return `Its secrets open everything that the platform may do here. Only you can read it: give it to the platform, then delete it, and commit it nowhere.${noSignOn}`;
}
