import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Argument, Option } from "commander";
import { KitError, messageOf, Misconfigured } from "../../errors.ts";
import type { Fault } from "../../manifest/check.ts";
import type { EnvironmentName } from "../../manifest/schema.ts";
import type { KitCommand, Session } from "./session.ts";
import type { Screen } from "./host.ts";
import { DONE, FAILED } from "./outcome.ts";
import { counted, example, jsonText, safe, safeLines } from "./text.ts";
import { addonManifest } from "../../resources/check-offer.ts";

export function addManifest(program: KitCommand): void {
  const manifest = program
    .command("manifest")
    .description("app.json, from which the platform makes an app; and the add-on's own manifest");
  const file = new Argument("<file>", "an app.json, or - for standard input");

  manifest
    .command("check")
    .addArgument(file)
    .description("name every broken rule, and what else is worth a look; exits with 1 on a broken rule")
    .does(async (session, name: string) => {
      const { ok, faults } = await examine(session, name);
      return {
        data: { ok, faults },
        show: (screen) => faultList(screen, name, faults),
        exitCode: ok ? DONE : FAILED,
      };
    });

  manifest
    .command("resolve")
    .addArgument(file)
    .addOption(new Option("--environment <name>", "for such an app").choices(["test", "review"]))
    .description("print what an app is made from: each key of the environment replaces the whole key")
    .does(async (session, name: string, { environment }: { environment?: EnvironmentName }) => {
      const { manifest: whole, faults } = await examine(session, name);
      if (!whole) {
        // A broken manifest gives no result at all, so that nobody uses half of one.
        const message = `${nameOf(name)} breaks rules of the platform's manifest.`;
        return {
          data: { id: "manifest_broken", message, faults },
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
  const bytes = await (file === "-" ? buffer(session.host.stdin) : readFile(file)).catch((cause: unknown) => {
    throw new KitError("unreadable", `${nameOf(file)} cannot be read: ${messageOf(cause)}`, { cause });
  });
  const { checkManifestText } = await import("../../manifest/check.ts");
  return checkManifestText(bytes);
}

const nameOf = (file: string) => (file === "-" ? "standard input" : file);

function faultList({ paint }: Screen, file: string, faults: readonly Fault[]): string {
  const name = safe(nameOf(file));
  if (faults.length === 0) return paint.green(`${name} is sound.`);
  const lines = faults.map(({ pointer, severity, message }) => {
    const mark = severity === "error" ? paint.red("✗") : paint.yellow("!");
    const where = paint.bold(pointer === "" ? "(the whole file)" : safe(pointer));
    return `${mark} ${where}\n    ${safeLines(message, "    ")}\n`;
  });
  const errors = faults.filter(({ severity }) => severity === "error").length;
  return [
    ...lines,
    `${name}: ${counted(errors, "error")}, ${counted(faults.length - errors, "warning")}.`,
  ].join("\n");
}

function addWrite(manifest: KitCommand): void {
  manifest
    .command("write")
    .option("--reveal", "with ADDON_PASSWORD and SSO_SALT: it is for the platform's eyes only")
    .description("print the add-on's own manifest, which registers it with the platform")
    .addHelpText(
      "after",
      `${example("kit manifest write > addon-manifest.json")}

It is made of src/your-service/plans.ts and of ADDON_ID, PUBLIC_URL,
RESOURCES_PATH and SSO_SALT. Without --reveal it holds no secret, and may be
committed and compared.`,
    )
    .does(async (session, { reveal = false }: { reveal?: boolean }) => {
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
      // The platform's document shows no shape for the two addresses; the calls about a resource append its uuid.
      const data = {
        ...addonManifest(addonId, await session.offer()),
        base_url: `${publicUrl}${resourcesPath}`,
        ...(ssoSalt && { sso_url: `${publicUrl}/sso/login` }),
        ...(reveal && { password: addonPassword.reveal() }),
        ...(reveal && ssoSalt && { sso_salt: ssoSalt.reveal() }),
      };
      return { data, show: () => JSON.stringify(data, null, 2) };
    });
}
