import { Argument, Option, type Command } from "commander";
import type { ManifestReport } from "../../manifest/check.ts";
import type { EnvironmentName } from "../../manifest/schema.ts";
import { examples } from "./examples.ts";
import type { Screen } from "./host.ts";
import { readInputFile } from "./input.ts";
import { addWrite } from "./manifest-write.ts";
import { DONE, FAILED } from "./outcome.ts";
import type { Act, Session } from "./session.ts";
import { counted, jsonText, safe, wrapped } from "./text.ts";

const FILE = new Argument("<file>", "an app.json, or - for standard input");
/** Many times the size of a long manifest. */
const MOST_BYTES = 512 * 1024;

type Faults = ManifestReport["faults"];

export function addManifest(program: Command, act: Act): void {
  const manifest = program
    .command("manifest")
    .description("app.json, from which the platform makes an app; and the add-on's own manifest");

  manifest
    .command("check")
    .addArgument(FILE)
    .description("name every broken rule, and what else is worth a look; exits with 1 on a broken rule")
    .addHelpText("after", examples("kit manifest check app.json", "kit manifest check - < app.json"))
    .action(
      act(async (session, file: string) => {
        const { ok, faults } = await examine(session, file);
        return {
          data: { ok, faults: faults.map(withoutPlace) },
          show: (screen) => faultList(screen, nameOf(file), faults),
          exitCode: ok ? DONE : FAILED,
        };
      }),
    );

  manifest
    .command("resolve")
    .addArgument(FILE)
    .addOption(new Option("--environment <name>", "for such an app").choices(["test", "review"]))
    .description("print what an app is made from: each key of the environment replaces the whole key")
    .addHelpText("after", examples("kit manifest resolve app.json --environment review"))
    .action(
      act(async (session, file: string, { environment }: { environment?: EnvironmentName }) => {
        const { manifest: whole, faults } = await examine(session, file);
        // A broken manifest gives no result at all, so that nobody uses half of one.
        if (!whole) return refusal(nameOf(file), faults);
        const { effectiveManifest } = await import("../../manifest/effective.ts");
        const data = effectiveManifest(whole, environment);
        return { data, show: () => jsonText(data, 2) };
      }),
    );

  addWrite(manifest, act);
}

async function examine(session: Session, file: string): Promise<ManifestReport> {
  // Somebody may type it.
  if (file === "-") session.endProgress();
  const bytes = await readInputFile(file, MOST_BYTES, session.host);
  const { checkManifestText } = await import("../../manifest/check.ts");
  return checkManifestText(bytes);
}

const nameOf = (file: string) => (file === "-" ? "standard input" : file);
const withoutPlace = ({ pointer, severity, message }: Faults[number]) => ({ pointer, severity, message });

function refusal(name: string, faults: Faults) {
  const errors = faults.filter(({ severity }) => severity === "error");
  const message = `${name} breaks rules of the platform's manifest: ${counted(errors.length, "error")}.`;
  return {
    data: { id: "manifest_broken", message, faults: faults.map(withoutPlace) },
    show: (screen: Screen) => faultList(screen, name, errors),
    isComplaint: true,
    exitCode: FAILED,
  };
}

/** The faults of a file, one below the other, and a summary line. */
function faultList(screen: Screen, name: string, faults: Faults): string {
  const { columns, paint } = screen;
  const places = faults.map(({ place }) => (place ? `${place.line}:${place.column}` : ""));
  const width = Math.max(0, ...places.map((place) => place.length));
  const indent = " ".repeat(width + 4);
  const lines = faults.map(({ pointer, severity, message }, at) => {
    const mark = severity === "error" ? paint.red("✗") : paint.yellow("!");
    const where = paint.bold(pointer === "" ? "(the whole file)" : safe(pointer));
    const head = `${mark} ${paint.dim(places[at]!.padEnd(width))}  ${where}`;
    return `${head}\n${indent}${wrapped(safe(message), columns, indent)}\n`;
  });
  const errors = faults.filter(({ severity }) => severity === "error").length;
  const counts = [counted(errors, "error"), counted(faults.length - errors, "warning")];
  const [shownErrors, shownWarnings] = counts as [string, string];
  const more = faults.length > errors ? `, ${shownWarnings}` : "";
  if (errors > 0) return [...lines, paint.red(`${safe(name)}: ${shownErrors}${more}.`)].join("\n");
  const end = more
    ? `${safe(name)} breaks no rule: ${shownWarnings}.`
    : paint.green(`${safe(name)} is sound.`);
  return [...lines, end].join("\n");
}
