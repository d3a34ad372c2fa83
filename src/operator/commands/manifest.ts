import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Argument, Option } from "commander";
import { KitError, messageOf, Misconfigured } from "../../errors.ts";
import type { EnvironmentName, Fault } from "../../manifest/check.ts";
import { addonManifest } from "../../offer.ts";
import { counted } from "../wording.ts";
import type { Paint } from "./host.ts";
import { DONE, example, FAILED, jsonText, safe, safeLines } from "./outcome.ts";
import type { KitCommand, Session } from "./session.ts";

export function addManifest(program: KitCommand): void {
  const manifest = program
    .command("manifest")
    .summary("app.json, and the add-on's manifest")
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
        show: (paint) => faultList(paint, faults),
        exitCode: ok ? DONE : FAILED,
      };
    });

  manifest
    .command("resolve")
    .addArgument(file)
    .addOption(
      new Option("--environment <name>", "for an app of this environment").choices(["test", "review"]),
    )
    .description("print what an app is made from: each key of the environment replaces the whole key")
    .does(async (session, name: string, { environment }: { environment?: EnvironmentName }) => {
      const { manifest: whole } = await examine(session, name);
      // A broken manifest gives no result at all, so that nobody uses half of one.
      if (!whole)
        throw new KitError(
          "manifest_broken",
          `${name} breaks rules of the platform. See each with: kit manifest check ${name}`,
        );
      const { effectiveManifest } = await import("../../manifest/check.ts");
      const data = effectiveManifest(whole, environment);
      return { data, show: () => jsonText(data, 2) };
    });

  manifest
    .command("schema")
    .description("print the JSON Schema of app.json, by which an editor completes and checks it")
    .does(async () => {
      const { manifestJsonSchema } = await import("../../manifest/check.ts");
      const data = manifestJsonSchema();
      return { data, show: () => jsonText(data, 2) };
    });

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
        "addonId",
        "publicUrl",
        "resourcesPath",
        "ssoSalt",
        ...(reveal ? (["addonPassword"] as const) : []),
      ]);
      if (publicUrl === undefined)
        throw new Misconfigured("PUBLIC_URL is required here: the address at which the platform reaches us.");
      // The platform's document shows no shape for the two addresses; the calls about a resource append its uuid.
      const data = {
        ...addonManifest(addonId, await session.offer()),
        base_url: `${publicUrl}${resourcesPath}`,
        ...(ssoSalt && { sso_url: `${publicUrl}/sso/login` }),
        ...(reveal && { password: addonPassword.reveal() }),
        ...(reveal && ssoSalt && { sso_salt: ssoSalt.reveal() }),
      };
      return { data, show: () => jsonText(data, 2) };
    });
}

async function examine({ host, endProgress }: Session, file: string) {
  // Somebody may type it.
  if (file === "-") endProgress();
  const bytes = await (file === "-" ? buffer(host.stdin) : readFile(file)).catch((cause: unknown) => {
    throw new KitError("unreadable", `${file} cannot be read: ${messageOf(cause)}`, { cause });
  });
  const { checkManifestText } = await import("../../manifest/check.ts");
  return checkManifestText(bytes);
}

function faultList(paint: Paint, faults: readonly Fault[]): string {
  const lines = faults.map(({ pointer, severity, message, line, column }) => {
    const mark = severity === "error" ? paint.red("✗") : paint.yellow("!");
    const where = paint.bold(pointer === "" ? "(the whole file)" : safe(pointer));
    const place = line === undefined ? "" : paint.dim(` line ${line}, column ${column}`);
    return `${mark} ${where}${place}\n    ${safeLines(message, "    ")}\n`;
  });
  const errors = faults.filter(({ severity }) => severity === "error").length;
  return [...lines, `${counted(errors, "error")}, ${counted(faults.length - errors, "warning")}.`].join("\n");
}
