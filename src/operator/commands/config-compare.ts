import type { Command } from "commander";
import type { ConfigVar } from "../../resources/config-vars.ts";
import {
  diffAllConfigs,
  diffConfig,
  isDifferent,
  type ConfigDifference,
  type FleetDifference,
  type ShownValue,
  type VarDifference,
} from "../config-diff.ts";
import { isEmpty, planFleet, planPush, pushFleet, pushShown, type PushPlan } from "../config-push.ts";
import { checkNames, getConfig } from "../config-vars.ts";
import { bulk } from "./credentials.ts";
import { EXAMPLE_UUID, examples, STOPPED } from "./examples.ts";
import type { Screen } from "./host.ts";
import { DONE, FAILED, type Outcome } from "./outcome.ts";
import { bulkOutcome, bulkText, namesOrAll, some } from "./report.ts";
import type { Act, Session } from "./session.ts";
import { table } from "./table.ts";
import { counted, safe, wrapped, writtenOut } from "./text.ts";

export const REVEAL = ["--reveal", "show the values: they are the customer's secrets"] as const;

interface Options {
  all?: boolean;
  yes?: boolean;
  overwrite?: string[];
  reveal?: boolean;
}

/** `kit config diff` and `kit config push`. */
export function addCompare(config: Command, act: Act): void {
  config
    .command("diff")
    .argument("[uuid]", "the resource")
    .option("--all", "every resource that has working tokens")
    .option(...REVEAL)
    .description("what your service wants against what the platform has; exits with 1 if something differs")
    .addHelpText(
      "after",
      `${examples(`kit config diff ${EXAMPLE_UUID}`, "kit config diff --all")}

same     the platform has what your service wants
differs  it has another value: changed there by hand, or a change is on its way
missing  it has none
extra    it has one that your service no longer wants, or declares
foreign  it has one that was never set from here: no push touches it

Values are masked. Beside each stands a fingerprint: where two are equal, the
values are.${STOPPED}`,
    )
    .action(
      act(async (session, typed: string | undefined, options: Options) => {
        const which = namesOrAll(typed === undefined ? [] : [typed], options);
        return which === "all" ? diffAll(session, options) : diffOne(session, which[0]!, options);
      }),
    );

  config
    .command("push")
    .argument("[uuid]", "the resource")
    .option("--all", "every resource that has working tokens")
    .option("--overwrite <name...>", "make these as your service wants them, if they were ever set from here")
    .option("--yes", "do not ask")
    .option(...REVEAL)
    .description("set what is missing on the platform; what differs there stays, unless it is named")
    .addHelpText(
      "after",
      `${examples(`kit config push ${EXAMPLE_UUID}`, `kit config push ${EXAMPLE_UUID} --overwrite SHOP_URL --yes`)}

The difference is shown first, and a person at a terminal is asked. A value that
stands on the platform may have been put there by hand: it is kept unless
--overwrite names it. One that was never set from here is kept even then, and
with --all without a word, until kit config set has given it a value.${STOPPED}`,
    )
    .action(
      act(async (session, typed: string | undefined, options: Options) => {
        const which = namesOrAll(typed === undefined ? [] : [typed], options);
        return which === "all" ? pushAll(session, options) : pushOne(session, which[0]!, options);
      }),
    );
}

async function diffOne(session: Session, uuid: string, { reveal = false }: Options): Promise<Outcome> {
  const difference = await diffConfig(await session.context(), uuid);
  const { vars, isKnown } = difference;
  return {
    data: told(vars, reveal),
    show: (screen) => `${showVars(screen, difference, reveal)}\n\n${whatNow(screen, uuid, difference)}`,
    exitCode: isKnown && isDifferent(vars) ? FAILED : DONE,
  };
}

async function diffAll(session: Session, { reveal = false }: Options): Promise<Outcome> {
  const context = await session.context();
  const report = await diffAllConfigs({ ...context, ...bulk(session, context) });
  const { checked, different, failed, skipped, left } = report;
  session.sayWhatIsLeft(left, "The same command begins anew.");
  const shown = different.map((each) => ({ ...each, vars: told(each.vars, reveal) }));
  return {
    data: { checked, different: shown, failed, skipped, ...(left !== undefined && { left }) },
    show: (screen) => showFleet(screen, report),
    exitCode: different.length + failed.length + (left ?? 0) > 0 ? FAILED : DONE,
  };
}

async function pushOne(session: Session, uuid: string, options: Options): Promise<Outcome> {
  const { overwrite = [], reveal = false, yes = false } = options;
  const context = await session.context();
  const difference = await diffConfig(context, uuid);
  const { vars: shown, retired, isKnown } = difference;
  checkNames(context.offer, overwrite, retired);
  const plan = planPush(shown, overwrite);
  let end = isKnown ? "The platform has all that can be set." : NOT_KNOWN_YET;
  if (!isEmpty(plan)) {
    session.say(`${showVars(session.screen(), difference, reveal)}\n\n${inWords(plan)}`);
    if (!yes) await session.confirm("Go on?");
    end = `${counted((await pushShown(context, uuid, { shown, overwrite })).length, "var")} changed.`;
  }
  return showConfig(await getConfig(context, uuid), options, [end, ...leftInWords(plan)].join(" "));
}

async function pushAll(session: Session, { overwrite = [], yes = false }: Options): Promise<Outcome> {
  // Comparing all resources takes minutes: if nobody can be asked to confirm, fail before that.
  if (!yes) session.checkMayAsk();
  const context = await session.context();
  const how = bulk(session, context);
  const { signal } = how;
  const fleet = await diffAllConfigs({ ...context, ...how });
  // Not checked if any comparison failed or was stopped: such a resource may still have a var of this name.
  if (!signal.aborted && fleet.failed.length === 0) checkNames(context.offer, overwrite, [...fleet.retired]);
  const plan = planFleet(fleet, overwrite);
  if (fleet.different.length > 0) session.say(showFleet(session.screen(), fleet));
  const { todo, report } = plan;
  let left = todo.length + (fleet.left ?? 0);
  if (todo.length > 0 && !signal.aborted) {
    session.say(`${counted(todo.length, "resource")} to change.`);
    if (!yes) await session.confirm("Go on?");
    left = await pushFleet({ ...context, ...how }, plan, overwrite);
  }
  session.sayWhatIsLeft(left, "The same command goes on.");
  return bulkOutcome(signal.aborted ? { ...report, left } : report, "changed");
}

/** Config vars as the platform has them, masked unless `reveal` is set. `end` is a sentence for people, shown below. */
export function showConfig(config: readonly ConfigVar[], { reveal = false }: Options, end = ""): Outcome {
  const data = config.map(({ name, value }) => ({
    name,
    value: reveal || value === null ? value : "[secret]",
  }));
  return {
    data,
    show: (screen) => {
      // A script gets the raw values; for a terminal, control characters are written out.
      const shown = screen.isTerminal ? writtenOut : String;
      const vars = reveal
        ? data.map(({ name, value }) => shown(`${name}=${value ?? ""}`)).join("\n")
        : table(
            screen,
            data.map(({ name }) => ({ name, value: "••••••••" })),
          );
      return [data.length === 0 ? "No config vars are set." : vars, ...(end ? ["", end] : [])].join("\n");
    },
  };
}

/** The differences as a JSON document for scripts: `value` is the wanted value. */
function told(vars: readonly VarDifference[], reveal: boolean) {
  const value = (shown: ShownValue | null) => shown && (reveal ? shown.value.reveal() : "[secret]");
  return vars.map(({ name, state, wanted, platform }) => ({
    ...{ name, state, value: value(wanted), fingerprint: wanted?.fingerprint ?? null },
    platform: platform && { value: value(platform), fingerprint: platform.fingerprint },
  }));
}

/** Revealed values are not shortened, however narrow the screen is. */
function showVars(screen: Screen, { vars, isKnown }: ConfigDifference, reveal: boolean): string {
  if (vars.length === 0)
    return `There are no config vars${isKnown ? ", and none are wanted." : " on the platform."}`;
  const cell = (shown: ShownValue | null) =>
    !shown ? "–" : reveal ? writtenOut(shown.value.reveal()) : `•••• ${shown.fingerprint}`;
  const rows = vars.map(({ name, state, wanted, platform }) => ({
    ...{ name, state, wanted: cell(wanted), platform: cell(platform) },
  }));
  const shade = (text: string) =>
    ["differs", "missing", "extra"].includes(text.trim()) ? screen.paint.yellow(text) : text;
  return table(reveal ? { ...screen, columns: Infinity } : screen, rows, shade);
}

/** Shown if neither the vendor's service nor `kit config set` has said what is wanted. */
const NOT_KNOWN_YET =
  "What your service wants is not known yet: it is still provisioning, or was installed before the kit.";

function whatNow({ columns }: Screen, uuid: string, { vars, isKnown }: ConfigDifference): string {
  if (!isKnown) return `${wrapped(NOT_KNOWN_YET, columns)}\nHow far it is: kit resources show ${uuid}`;
  const others = vars.filter((each) => isDifferent([each]));
  if (others.length === 0) return "Nothing differs.";
  const there = others.filter(({ platform }) => platform).map(({ name }) => safe(name));
  const overwrite = there.length > 0 ? ` \\\n    --overwrite ${there.join(" ")}` : "";
  const head = `Not as wanted: ${others.length} of ${counted(vars.length, "var")}. To make it so on the platform:`;
  return `${wrapped(head, columns)}\n  kit config push ${uuid}${overwrite}`;
}

function showFleet(screen: Screen, report: FleetDifference): string {
  const { checked, different } = report;
  const { columns, paint } = screen;
  const names = (vars: VarDifference[]) =>
    vars.flatMap((each) => (isDifferent([each]) ? [`${safe(each.name)} ${each.state}`] : [])).join(", ");
  return [
    ...some(
      different,
      ({ uuid, vars }) => `${paint.yellow("!")} ${uuid}\n    ${wrapped(names(vars), columns, "    ")}`,
    ),
    bulkText(screen, report, `${checked} looked at, ${different.length} different`),
    ...(different.length > 0 ? [paint.dim("One of them, var by var: kit config diff UUID")] : []),
  ].join("\n");
}

function inWords(plan: PushPlan): string {
  const lines = [
    ["To be set", plan.set],
    ["To be overwritten", plan.overwrite],
    ["To be removed", plan.remove],
  ] as const;
  const told = lines.flatMap(([what, names]) =>
    names.length > 0 ? [`${what}: ${safe(names.join(", "))}`] : [],
  );
  return [...told, ...leftInWords(plan)].join("\n");
}

/** The vars that stay as the platform has them, and how to change those. */
function leftInWords({ keep, foreign }: PushPlan): string[] {
  return [
    keep.length > 0 && `Kept as the platform has it: ${safe(keep.join(", "))} (--overwrite changes that).`,
    foreign.length > 0 &&
      `Left alone, for it was never set from here: ${safe(foreign.join(", "))} (kit config set changes that).`,
  ].filter((each) => each !== false);
}
