import type { OpenContext } from "../../open-context.ts";
import type { ConfigVar } from "../../resources/config-vars.ts";
import {
  diffAllConfigs,
  diffConfig,
  differing,
  isOver,
  isPushed,
  NOT_KNOWN_YET,
  pushAllShown,
  pushShown,
  varsInWords,
  type ConfigDifference,
  type FleetDifference,
  type ShownValue,
  type VarDifference,
} from "../config-diff.ts";
import { checkNames, getConfig, setConfig } from "../config-vars.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { counted, some } from "../wording.ts";
import { isWhole } from "../work-through.ts";
import type { KitCommand } from "./command.ts";
import type { Screen } from "./host.ts";
import { bulkOutcome, bulkText, DONE, FAILED, namesOrAll, onScreen, type Outcome } from "./outcome.ts";
import type { Session } from "./session.ts";
import { table } from "./table.ts";
import { EXAMPLE_UUID, examples, safe, STOPPED, writtenOut } from "./text.ts";

const REVEAL = ["--reveal", "show the values: they are the customer's secrets"] as const;

interface Options {
  all?: boolean;
  yes?: boolean;
  overwrite?: string[];
  reveal?: boolean;
  unset?: string[];
}

const ALL = ["--all", "every resource that has working tokens"] as const;

/** One value of a config var may come on standard input. */
const MOST_VALUE_BYTES = 1024 * 1024;

export function addConfig(program: KitCommand): void {
  const config = program.command("config").description("the config vars of a resource's apps");

  config
    .command("get")
    .argument("<uuid>", "the resource", typedUuid)
    .option(...REVEAL)
    .description("the config vars as the platform has them")
    .addHelpText("after", examples(`kit config get ${EXAMPLE_UUID}`))
    .does(async (session, uuid: string, options: Options) =>
      showConfig(await getConfig(await session.context(), uuid), options),
    );

  config
    .command("set")
    .argument("<uuid>", "the resource", typedUuid)
    .argument("[NAME=VALUE...]", "NAME=- takes the value from standard input")
    .option("--unset <name...>", "remove these")
    .option(...REVEAL)
    .description("change single config vars, on the platform and in what we keep")
    .addHelpText(
      "after",
      examples(
        `kit config set ${EXAMPLE_UUID} SHOP_URL=https://shop.example/1`,
        `kit config set ${EXAMPLE_UUID} SHOP_TOKEN=- < token.txt`,
      ),
    )
    .does(async (session, uuid: string, pairs: string[], options: Options) => {
      const changes = await readChanges(session, pairs, options.unset ?? []);
      const now = await setConfig(await session.context(), uuid, changes);
      return showConfig(now, options, `Changed: ${changes.map(({ name }) => name).join(", ")}.`);
    });

  addCompare(config);
}

async function readChanges(
  session: Session,
  pairs: readonly string[],
  unset: readonly string[],
): Promise<ConfigVar[]> {
  const set = pairs.map((pair): ConfigVar => {
    const end = pair.indexOf("=");
    // The pair may hold a secret, so the message does not repeat it.
    if (end < 1) throw new UsedWrongly("A config var is given as NAME=VALUE.");
    return { name: pair.slice(0, end), value: pair.slice(end + 1) };
  });
  const changes = [...unset.map((name): ConfigVar => ({ name, value: null })), ...set];
  if (changes.length === 0) throw new UsedWrongly("Nothing to change: give NAME=VALUE, or --unset NAME.");
  if (new Set(changes.map(({ name }) => name)).size < changes.length)
    throw new UsedWrongly("A config var is named twice.");
  const [fromInput, another] = set.filter(({ value }) => value === "-");
  if (another) throw new UsedWrongly("Only one value can come from standard input.");
  if (fromInput)
    fromInput.value = (await session.secret(`The value of ${fromInput.name}`, MOST_VALUE_BYTES)).reveal();
  return changes;
}

/** `kit config diff` and `kit config push`. */
function addCompare(config: KitCommand): void {
  config
    .command("diff")
    .argument("[uuid]", "the resource")
    .option(...ALL)
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
    .does((session, typed: string | undefined, options: Options) => {
      const uuid = uuidOrAll(typed, options);
      return uuid === "all" ? diffAll(session, options) : diffOne(session, uuid, options);
    });

  config
    .command("push")
    .argument("[uuid]", "the resource")
    .option(...ALL)
    .option("--overwrite <name...>", "make these as your service wants them, if they were ever set from here")
    .option("--yes", "do not ask")
    .option(...REVEAL)
    .description("set what is missing on the platform; what differs there stays, unless it is named")
    .addHelpText(
      "after",
      `${examples(`kit config push ${EXAMPLE_UUID}`, `kit config push ${EXAMPLE_UUID} --overwrite SHOP_URL --yes`)}

The difference is shown first, and a person at a terminal is asked. A value that
stands on the platform may have been put there by hand: it is kept unless
--overwrite names it. One that was never set from here is kept even then, until
kit config set has given it a value.${STOPPED}`,
    )
    .does((session, typed: string | undefined, options: Options) => {
      const uuid = uuidOrAll(typed, options);
      return uuid === "all" ? pushAll(session, options) : pushOne(session, uuid, options);
    });
}

function uuidOrAll(typed: string | undefined, options: Options): string {
  return [namesOrAll(typed === undefined ? [] : [typed], options)].flat()[0]!;
}

async function diffOne(session: Session, uuid: string, { reveal = false }: Options): Promise<Outcome> {
  const difference = await diffConfig(await session.context(), uuid);
  const { vars, isKnown } = difference;
  return {
    data: told(vars, reveal),
    show: (screen) => `${showVars(screen, vars, reveal)}\n\n${whatNow(uuid, difference)}`,
    exitCode: isKnown && differing(vars).length > 0 ? FAILED : DONE,
  };
}

async function diffAll(session: Session, { reveal = false }: Options): Promise<Outcome> {
  const fleet = await diffAllConfigs(await session.context(), session.how());
  const { done, ...report } = fleet.report;
  const different = fleet.different.map((each) => ({ ...each, vars: told(each.vars, reveal) }));
  return {
    data: { checked: done.length, different, ...report },
    show: (screen) => showFleet(screen, fleet),
    exitCode: different.length === 0 && isWhole(fleet.report) ? DONE : FAILED,
  };
}

async function pushOne(session: Session, uuid: string, options: Options): Promise<Outcome> {
  const { overwrite = [], reveal = false, yes = false } = options;
  const context = await session.context();
  const { vars: shown, retired, isKnown } = await diffConfig(context, uuid);
  checkOverwrite(context, overwrite, retired);
  const changes = shown.filter((each) => isPushed(each, overwrite));
  const kept = shown.filter(
    (each) =>
      !changes.includes(each) &&
      (isOver(each) || (each.state === "foreign" && overwrite.includes(each.name))),
  );
  let end = isKnown ? "The platform has all that can be set." : NOT_KNOWN_YET;
  if (changes.length > 0) {
    session.say(`${showVars(session.screen(), shown, reveal)}\n\nTo be changed: ${varsInWords(changes)}`);
    if (!yes) await session.confirm("Go on?");
    end = `${counted((await pushShown(context, uuid, { shown, overwrite })).length, "var")} changed.`;
  }
  if (kept.length > 0) end += `\nKept as the platform has it: ${varsInWords(kept)}. ${KEPT}`;
  return showConfig(await getConfig(context, uuid), options, end);
}

const KEPT = "--overwrite changes what was ever set from here, kit config set the rest.";

async function pushAll(session: Session, { overwrite = [], yes = false }: Options): Promise<Outcome> {
  // Comparing all resources takes minutes: if nobody can be asked to confirm, fail before that.
  if (!yes) session.checkMayAsk();
  const context = await session.context();
  const how = session.how();
  const fleet = await diffAllConfigs(context, how);
  const { report, different, retired } = fleet;
  // Not checked if any comparison failed or was stopped: such a resource may still have a var of this name.
  if (isWhole(report)) checkOverwrite(context, overwrite, [...retired]);
  if (different.length > 0) session.say(showFleet(session.screen(), fleet));
  const todo = different.filter(({ vars }) => vars.some((each) => isPushed(each, overwrite)));
  if (todo.length > 0 && !how.signal.aborted) {
    session.say(`${counted(todo.length, "resource")} to change.`);
    if (!yes) await session.confirm("Go on?");
  }
  const pushed = await pushAllShown(context, different, overwrite, how);
  const left = (report.left ?? 0) + (pushed.left ?? 0);
  const failed = [...report.failed, ...pushed.failed];
  const skipped = [...report.skipped, ...pushed.skipped];
  return bulkOutcome({ done: pushed.done, failed, skipped, ...(left > 0 && { left }) }, "changed");
}

const checkOverwrite = ({ offer }: OpenContext, names: readonly string[], retired: readonly string[]): void =>
  checkNames(
    offer,
    names.filter((name) => !retired.includes(name)),
  );

/** Config vars as the platform has them, masked unless `reveal` is set. `end` is for people, shown below. */
function showConfig(config: readonly ConfigVar[], { reveal = false }: Options, end = ""): Outcome {
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
      const below = end && `\n\n${onScreen(screen, end)}`;
      return (data.length === 0 ? "No config vars are set." : vars) + below;
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
function showVars(screen: Screen, vars: readonly VarDifference[], reveal: boolean): string {
  if (vars.length === 0) return "There are no config vars, here or on the platform.";
  const cell = (shown: ShownValue | null) =>
    !shown ? "–" : reveal ? writtenOut(shown.value.reveal()) : `•••• ${shown.fingerprint}`;
  const rows = vars.map(({ name, state, wanted, platform }) => ({
    ...{ name, state, wanted: cell(wanted), platform: cell(platform) },
  }));
  return table(reveal ? { ...screen, columns: Infinity } : screen, rows);
}

function whatNow(uuid: string, { vars, isKnown }: ConfigDifference): string {
  if (!isKnown) return `${NOT_KNOWN_YET}\nHow far it is: kit resources show ${uuid}`;
  if (differing(vars).length === 0) return "Nothing differs.";
  const over = vars.filter(isOver).map(({ name }) => safe(name));
  const overwrite = over.length > 0 ? ` \\\n    --overwrite ${over.join(" ")}` : "";
  return `To make it so on the platform:\n  kit config push ${uuid}${overwrite}`;
}

function showFleet(screen: Screen, { report, different }: FleetDifference): string {
  const lines = some(different, ({ uuid, vars }) => `! ${uuid}\n    ${varsInWords(differing(vars))}`);
  const head = lines.length > 0 ? `${onScreen(screen, lines.join("\n"))}\n` : "";
  return head + bulkText(screen, report, `compared, ${different.length} different`);
}
