import { rename, rm, writeFile } from "node:fs/promises";
import { Argument, Option } from "commander";
import { madeUpNames } from "../../environment.ts";
import { KitError, messageOf, Misconfigured } from "../../errors.ts";
import type { Fault } from "../../manifest/check.ts";
import type { EnvironmentName } from "../../manifest/schema.ts";
import { addonManifest } from "../addon-manifest.ts";
import type { KitCommand } from "./command.ts";
import type { Screen } from "./host.ts";
import { readInputFile } from "./input.ts";
import { DONE, FAILED } from "./outcome.ts";
import type { Session } from "./session.ts";
import { counted, examples, jsonText, safe, wrapped } from "./text.ts";

/** Many times the size of a long manifest. */
const MOST_BYTES = 512 * 1024;

export function addManifest(program: KitCommand): void {
  const manifest = program
    .command("manifest")
    .description("app.json, from which the platform makes an app; and the add-on's own manifest");
  const file = new Argument("<file>", "an app.json, or - for standard input");

  manifest
    .command("check")
    .addArgument(file)
    .description("name every broken rule, and what else is worth a look; exits with 1 on a broken rule")
    .addHelpText("after", examples("kit manifest check app.json", "kit manifest check - < app.json"))
    .does(async (session, name: string) => {
      const { ok, faults } = await examine(session, name);
      return {
        data: { ok, faults: faults.map(withoutPlace) },
        show: (screen) => faultList(screen, name, faults),
        exitCode: ok ? DONE : FAILED,
      };
    });

  manifest
    .command("resolve")
    .addArgument(file)
    .addOption(new Option("--environment <name>", "for such an app").choices(["test", "review"]))
    .description("print what an app is made from: each key of the environment replaces the whole key")
    .addHelpText("after", examples("kit manifest resolve app.json --environment review"))
    .does(async (session, name: string, { environment }: { environment?: EnvironmentName }) => {
      const { manifest: whole, faults } = await examine(session, name);
      if (!whole) {
        // A broken manifest gives no result at all, so that nobody uses half of one.
        const message = `${nameOf(name)} breaks rules of the platform's manifest.`;
        return {
          data: { id: "manifest_broken", message, faults: faults.map(withoutPlace) },
          show: (screen) => faultList(screen, name, faults),
          isComplaint: true,
          exitCode: FAILED,
        };
      }
      const { effectiveManifest } = await import("../../manifest/schema.ts");
      const data = effectiveManifest(whole, environment);
      return { data, show: () => jsonText(data, 2) };
    });

  addWrite(manifest);
}

async function examine(session: Session, file: string) {
  // Somebody may type it.
  if (file === "-") session.endProgress();
  const bytes = await readInputFile(file, MOST_BYTES, session.host);
  const { checkManifestText } = await import("../../manifest/check.ts");
  return checkManifestText(bytes);
}

const nameOf = (file: string) => (file === "-" ? "standard input" : file);
const withoutPlace = ({ place: _, ...fault }: Fault) => fault;

/** The faults of a file, one below the other, and how many there are. */
function faultList({ columns, paint }: Screen, file: string, faults: readonly Fault[]): string {
  const name = safe(nameOf(file));
  if (faults.length === 0) return paint.green(`${name} is sound.`);
  const lines = faults.map(({ pointer, severity, message, place }) => {
    const mark = severity === "error" ? paint.red("✗") : paint.yellow("!");
    const where = paint.bold(pointer === "" ? "(the whole file)" : safe(pointer));
    const at = place ? paint.dim(`${place.line}:${place.column}  `) : "";
    return `${mark} ${at}${where}\n    ${wrapped(safe(message), columns, "    ")}\n`;
  });
  const errors = faults.filter(({ severity }) => severity === "error").length;
  return [
    ...lines,
    `${name}: ${counted(errors, "error")}, ${counted(faults.length - errors, "warning")}.`,
  ].join("\n");
}

/** `kit manifest write`, a subcommand of `manifest`. */
function addWrite(manifest: KitCommand): void {
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
    .does(async (session, file: string | undefined, how: { reveal?: boolean; overwrite?: boolean }) => {
      const { reveal = false, overwrite = false } = how;
      const { registration, secrets } = await registrationFrom(session, reveal);
      const whole = { ...registration, ...secrets };
      const text = JSON.stringify(whole, null, 2);
      if (file === undefined || file === "-") {
        if (reveal) session.say("It holds the add-on's secrets: let it pass through nobody else's hands.");
        return { data: whole, show: () => text };
      }
      await write(file, `${text}\n`, { mode: reveal ? 0o600 : 0o644, overwrite });
      const said = reveal
        ? "Its secrets open everything that the platform may do here. Only you can read it: give it to the platform, then delete it, and commit it nowhere."
        : "No secret is in it: --reveal puts in what the platform needs.";
      return {
        data: { written: file, secrets: Object.keys(secrets) },
        show: ({ columns }) =>
          wrapped(`${file}: the add-on ${registration.id} at ${registration.base_url}.\n${said}`, columns),
      };
    });
}

/** What registers the add-on, and the secrets that the platform and the service share, if they are asked for. */
async function registrationFrom(session: Session, reveal: boolean) {
  if (reveal) refuseMadeUp(session);
  const { addonId, publicUrl, resourcesPath, ssoSalt, addonPassword } = session.settings([
    ...(["addonId", "publicUrl", "resourcesPath", "ssoSalt"] as const),
    ...(reveal ? (["addonPassword"] as const) : []),
  ]);
  if (publicUrl === undefined)
    throw new Misconfigured(
      "PUBLIC_URL is required here: the address at which the platform reaches us, like https://addon.example.com",
    );
  if (!publicUrl.startsWith("https:"))
    session.say(
      "PUBLIC_URL is not https: on the way, anybody could read the password that it is called with.",
    );
  return {
    // The platform's document shows no shape for the two addresses; the calls about a resource append its uuid.
    registration: {
      ...addonManifest(addonId, await session.offer()),
      base_url: `${publicUrl}${resourcesPath}`,
      ...(ssoSalt && { sso_url: `${publicUrl}/sso/login` }),
    },
    secrets: reveal
      ? { password: addonPassword.reveal(), ...(ssoSalt && { sso_salt: ssoSalt.reveal() }) }
      : {},
  };
}

/** Those that `npm run dev` generated would be used by the platform, and refused by the production service. */
function refuseMadeUp({ host }: Session): void {
  const names = madeUpNames(host.env, host.cwd()).filter((name) =>
    ["ADDON_ID", "ADDON_PASSWORD", "SSO_SALT"].includes(name),
  );
  if (names.length > 0)
    throw new Misconfigured(
      `${names.join(", ")}: not set by you, but generated by npm run dev for the sandbox. ` +
        "Set what your service has, in the environment or in .env, and write the manifest again.",
    );
}

/** The file exists already, or could not be written. */
class Unwritable extends KitError {}

/** Writes a file that has its mode from its first byte on; a failure leaves the one before. Throws `Unwritable`. */
async function write(name: string, text: string, how: { mode: number; overwrite: boolean }): Promise<void> {
  const fresh = how.overwrite ? `${name}.${process.pid}.new` : name;
  try {
    await writeFile(fresh, text, { mode: how.mode, flag: "wx" });
    if (how.overwrite) await rename(fresh, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST")
      throw new Unwritable("exists", `${name} exists already: --overwrite replaces it.`, { cause: error });
    await rm(fresh, { force: true }).catch(() => undefined);
    throw new Unwritable("unwritable", `${name} cannot be written: ${messageOf(error)}.`, { cause: error });
  }
}
