import { Argument, Option, type Command } from "commander";
import type { Fault } from "../../manifest/check.ts";
import type { EnvironmentName } from "../../manifest/schema.ts";
import { examples } from "./examples.ts";
import type { Screen } from "./host.ts";
import { readInputFile } from "./input.ts";
import { addWrite } from "./manifest-write.ts";
import { DONE, FAILED } from "./outcome.ts";
import type { Act, Session } from "./session.ts";
import { counted, jsonText, safe, wrapped } from "./text.ts";

/** Many times the size of a long manifest. */
const MOST_BYTES = 512 * 1024;

export function addManifest(program: Command, act: Act): void {
  const manifest = program
    .command("manifest")
    .description("app.json, from which the platform makes an app; and the add-on's own manifest");
  const file = new Argument("<file>", "an app.json, or - for standard input");

  manifest
    .command("check")
    .addArgument(file)
    .description("name every broken rule, and what else is worth a look; exits with 1 on a broken rule")
    .addHelpText("after", examples("kit manifest check app.json", "kit manifest check - < app.json"))
    .action(
      act(async (session, name: string) => {
        const { ok, faults } = await examine(session, name);
        return {
          data: { ok, faults: faults.map(withoutPlace) },
          show: (screen) => faultList(screen, name, faults),
          exitCode: ok ? DONE : FAILED,
        };
      }),
    );

  manifest
    .command("resolve")
    .addArgument(file)
    .addOption(new Option("--environment <name>", "for such an app").choices(["test", "review"]))
    .description("print what an app is made from: each key of the environment replaces the whole key")
    .addHelpText("after", examples("kit manifest resolve app.json --environment review"))
    .action(
      act(async (session, name: string, { environment }: { environment?: EnvironmentName }) => {
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
      }),
    );

  addWrite(manifest, act);
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
