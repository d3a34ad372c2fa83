import { Argument, Option } from "commander";
import type { ManifestReport } from "../../manifest/check.ts";
import type { EnvironmentName } from "../../manifest/schema.ts";
import { examples, type AddCommand } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { faultList } from "./fault-list.ts";
import type { Host } from "./host.ts";
import { nameOfInput, readInputFile } from "./input-file.ts";
import type { Outcome } from "./outcome.ts";
import type { Session } from "./session.ts";
import { counted, jsonText } from "./text.ts";
import { addWrite } from "./manifest-write.ts";

const FILE = new Argument("<file>", "an app.json, or - for standard input");
/** Many times the size of a long manifest. */
const MOST_BYTES = 512 * 1024;

export const addManifest: AddCommand = (program, act) => {
  const manifest = program
    .command("manifest")
    .description("app.json, from which the platform makes an app; and the add-on's own manifest");

  manifest
    .command("check")
    .addArgument(FILE)
    .description("name every broken rule, and what else is worth a look; exits with 1 on a broken rule")
    .addHelpText("after", examples("kit manifest check app.json", "kit manifest check - < app.json"))
    .action(act(check));

  manifest
    .command("resolve")
    .addArgument(FILE)
    .addOption(new Option("--environment <name>", "for such an app").choices(["test", "review"]))
    .description("print what an app is made from: each key of the environment replaces the whole key")
    .addHelpText("after", examples("kit manifest resolve app.json --environment review"))
    .action(act(resolve));

  addWrite(manifest, act);
};

async function check({ host }: Session, file: string): Promise<Outcome> {
  const { ok, faults } = await examine(file, host);
  return {
    data: { ok, faults: faults.map(withoutPlace) },
    show: (screen) => faultList(screen, nameOfInput(file), faults),
    exitCode: ok ? DONE : FAILED,
  };
}

async function resolve(
  { host }: Session,
  file: string,
  { environment }: { environment?: EnvironmentName },
): Promise<Outcome> {
  const { manifest, faults } = await examine(file, host);
  if (!manifest) return refusal(file, faults);
  const { effectiveManifest } = await import("../../manifest/effective.ts");
  const data = effectiveManifest(manifest, environment);
  return { data, show: () => jsonText(data, 2) };
}

async function examine(file: string, host: Host): Promise<ManifestReport> {
  const bytes = await readInputFile(file, MOST_BYTES, host);
  const { checkManifestText } = await import("../../manifest/check.ts");
  return checkManifestText(bytes);
}

/** A broken manifest gives no result at all, so that nobody uses half of one. */
function refusal(file: string, faults: ManifestReport["faults"]): Outcome {
  const errors = faults.filter(({ severity }) => severity === "error");
  const message = `${nameOfInput(file)} breaks rules of the platform's manifest: ${counted(errors.length, "error")}.`;
  return {
    data: { id: "manifest_broken", message, faults: faults.map(withoutPlace) },
    show: (screen) => faultList(screen, nameOfInput(file), errors),
    isComplaint: true,
    exitCode: FAILED,
  };
}

function withoutPlace({ pointer, severity, message }: ManifestReport["faults"][number]) {
  return { pointer, severity, message };
}
