import type { Command } from "commander";
import type { ConfigDifference, FleetDifference, ShownValue, VarDifference } from "../config-diff.ts";
import { EXAMPLE_UUID, examples, STOPPED, type Act } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { namesOrAll } from "./names-or-all.ts";
import { failures, nextSteps, some } from "./report.ts";
import type { Screen } from "./screen.ts";
import { table } from "./table.ts";
import { counted, safe, wrapped, writtenOut } from "./text.ts";

/** `kit config diff`, a subcommand of `config`. */
export function addDiff(config: Command, act: Act): void {
  config
    .command("diff")
    .argument("[uuid]", "the resource")
    .option("--all", "every resource that has working tokens")
    .option("--reveal", "show the values: they are the customer's secrets")
    .description("what your service wants against what the platform has; exits with 1 if something differs")
    .addHelpText(
      "after",
      examples(`kit config diff ${EXAMPLE_UUID}`, "kit config diff --all") + STATES + STOPPED,
    )
    .action(
      act(async (session, typed: string | undefined, options: { all?: boolean; reveal?: boolean }) => {
        const which = namesOrAll(typed === undefined ? [] : [typed], options);
        const { diffAllConfigs, diffConfig, isDifferent } = await import("../config-diff.ts");
        const services = await session.services();
        const { reveal = false } = options;
        if (which === "all") {
          const signal = session.stopSignal();
          const { onProgress } = session;
          const needs = { ...services, concurrency: services.config.tokenConcurrency, signal, onProgress };
          const report = await diffAllConfigs(needs);
          const { checked, different, failed, skipped, left } = report;
          session.sayWhatIsLeft(left, "The same command begins anew.");
          const shown = different.map((each) => ({ ...each, vars: told(each.vars, reveal) }));
          return {
            data: { checked, different: shown, failed, skipped, ...(left !== undefined && { left }) },
            show: (screen) => showFleet(screen, report),
            exitCode: different.length + failed.length + (left ?? 0) > 0 ? FAILED : DONE,
          };
        }
        const difference = await diffConfig(services, which[0]!);
        const { vars, isKnown } = difference;
        return {
          data: told(vars, reveal),
          show: (screen) =>
            `${showVars(screen, difference, reveal)}\n\n${nextStep(screen, which[0]!, difference)}`,
          exitCode: isKnown && isDifferent(vars) ? FAILED : DONE,
        };
      }),
    );
}

const STATES = `

same     the platform has what your service wants
differs  it has another value: changed there by hand, or a change is on its way
missing  it has none
extra    it has one that your service no longer wants, or declares
foreign  it has one that was never set from here: no push touches it

Values are masked. Beside each stands a fingerprint: where two are equal, the
values are.`;

/** The differences as a JSON document for scripts: `value` is the wanted value. */
export function told(vars: readonly VarDifference[], reveal: boolean) {
  const value = (shown: ShownValue | null) => (shown ? (reveal ? shown.value.reveal() : "[secret]") : null);
  return vars.map(({ name, state, wanted, platform }) => ({
    ...{ name, state, value: value(wanted), fingerprint: wanted?.fingerprint ?? null },
    platform: platform && { value: value(platform), fingerprint: platform.fingerprint },
  }));
}

/** One line for each var. Revealed values stand on lines of their own, uncut. */
export function showVars(screen: Screen, { vars, isKnown }: ConfigDifference, reveal: boolean): string {
  if (vars.length === 0)
    return `There are no config vars${isKnown ? ", and none are wanted." : " on the platform."}`;
  const { paint } = screen;
  const shade = (text: string, each: VarDifference) => (isLeft(each) ? text : paint.yellow(text));
  if (reveal) {
    const value = (shown: ShownValue | null) => (shown ? writtenOut(shown.value.reveal()) : "–");
    return vars
      .map(
        (each) =>
          `${safe(each.name)}  ${shade(each.state, each)}\n  wanted    ${value(each.wanted)}\n  platform  ${value(each.platform)}`,
      )
      .join("\n");
  }
  const cell = (shown: ShownValue | null) => (shown ? `•••• ${shown.fingerprint}` : "–");
  return table<VarDifference>(
    screen,
    [
      { title: "NAME", of: ({ name }) => name, canShrink: true },
      { title: "STATE", of: ({ state }) => state, paint: shade },
      { title: "WANTED", of: ({ wanted }) => cell(wanted) },
      { title: "PLATFORM", of: ({ platform }) => cell(platform) },
    ],
    vars,
  );
}

/** Whether a push would leave the var alone. */
function isLeft({ state }: VarDifference): boolean {
  return state === "same" || state === "foreign";
}

/** Shown if neither the vendor's service nor `kit config set` has said what is wanted. */
export const NOT_KNOWN_YET =
  "What your service wants is not known yet: it is still provisioning, or was installed before the kit.";

function nextStep({ columns }: Screen, uuid: string, { vars, isKnown }: ConfigDifference): string {
  if (!isKnown) return `${wrapped(NOT_KNOWN_YET, columns)}\nHow far it is: kit resources show ${uuid}`;
  const others = vars.filter((each) => !isLeft(each));
  if (others.length === 0) return "Nothing differs.";
  const there = others.filter(({ platform }) => platform).map(({ name }) => safe(name));
  const overwrite = there.length > 0 ? ` \\\n    --overwrite ${there.join(" ")}` : "";
  const said = `Not as wanted: ${others.length} of ${counted(vars.length, "var")}. To make it so on the platform:`;
  return `${wrapped(said, columns)}\n  kit config push ${uuid}${overwrite}`;
}

export function showFleet(screen: Screen, { checked, different, failed, skipped }: FleetDifference): string {
  const names = (vars: VarDifference[]) =>
    vars.flatMap((each) => (isLeft(each) ? [] : [`${safe(each.name)} ${each.state}`])).join(", ");
  const { columns, paint } = screen;
  return [
    ...some(
      different,
      ({ uuid, vars }) => `${paint.yellow("!")} ${uuid}\n    ${wrapped(names(vars), columns, "    ")}`,
    ),
    ...failures(screen, failed),
    ...some(skipped, ({ uuid, reason }) => `${paint.dim("–")} ${uuid}  skipped: ${reason}`),
    `${checked} looked at, ${different.length} different, ${failed.length} failed, ${skipped.length} skipped.`,
    ...(different.length > 0 ? [paint.dim("One of them, var by var: kit config diff UUID")] : []),
    ...nextSteps(failed.map(({ id }) => id)).map((each) => paint.dim(wrapped(each, columns))),
  ].join("\n");
}
