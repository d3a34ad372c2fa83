import type { Command } from "commander";
import type { FleetDifference, VarDifference } from "../config-diff.ts";
import type { PushPlan } from "../config-push.ts";
import type { TokenReport } from "../tokens.ts";
import { errorIdOf, messageOf } from "../../errors.ts";
import { EXAMPLE_UUID, examples, STOPPED, type Act } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { namesOrAll } from "./names-or-all.ts";
import { NOT_CONFIRMED, type Outcome } from "./outcome.ts";
import { showReport } from "./report.ts";
import { screenOf } from "./screen.ts";
import type { Session } from "./session.ts";
import { counted, safe } from "./text.ts";
import { NOT_KNOWN_YET, showFleet, showVars } from "./config-diff.ts";
import { maskedConfig } from "./masked-config.ts";

interface Options {
  all?: boolean;
  yes?: boolean;
  overwrite?: string[];
  reveal?: boolean;
}

/** `kit config push`, a subcommand of `config`. */
export function addPush(config: Command, act: Act): void {
  config
    .command("push")
    .argument("[uuid]", "the resource")
    .option("--all", "every resource that has working tokens")
    .option("--overwrite <name...>", "make these as your service wants them, if they were ever set from here")
    .option("--yes", "do not ask")
    .option("--reveal", "show the values: they are the customer's secrets")
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

async function pushOne(session: Session, uuid: string, options: Options): Promise<Outcome> {
  const { overwrite = [], reveal = false, yes = false } = options;
  const { checkNames, diffConfig, getConfig, isEmpty, planPush, pushShown } = await parts();
  const services = await session.services();
  const difference = await diffConfig(services, uuid);
  const { vars: shown, retired, isKnown } = difference;
  checkNames(services.offer, overwrite, retired);
  const plan = planPush(shown, overwrite);
  if (isEmpty(plan)) {
    const said = isKnown ? nothingToDo(plan) : [NOT_KNOWN_YET, ...leftInWords(plan)].join(" ");
    return maskedConfig(await getConfig(services, uuid), options, said);
  }
  session.say(`${showVars(screenOf(session.host, "stderr"), difference, reveal)}\n\n${inWords(plan)}`);
  if (!yes && !(await session.confirm("Go on?"))) return NOT_CONFIRMED;
  const changed = await pushShown(services, uuid, { shown, overwrite });
  const said = [`${counted(changed.length, "var")} changed.`, ...leftInWords(plan)].join(" ");
  return maskedConfig(await getConfig(services, uuid), options, said);
}

async function pushAll(session: Session, { overwrite = [], yes = false }: Options): Promise<Outcome> {
  // Comparing all resources takes minutes: if nobody can be asked to confirm, fail before that.
  if (!yes) await session.checkMayAsk();
  const { checkNames, diffAllConfigs, isEmpty, planPush, pushShown, workThrough } = await parts();
  const services = await session.services();
  const signal = session.stopSignal();
  const { onProgress } = session;
  const how = { concurrency: services.config.tokenConcurrency, onProgress };
  const fleet = await diffAllConfigs({ ...services, ...how, signal });
  // Not checked if any comparison failed or was stopped: such a resource may still have a var of this name.
  if (!signal.aborted && fleet.failed.length === 0) checkNames(services.offer, overwrite, [...fleet.retired]);
  const todo = fleet.different.filter(({ vars }) => !isEmpty(planPush(vars, overwrite)));
  const report = reportOf(fleet, todo);
  async function push({ uuid, vars }: { uuid: string; vars: VarDifference[] }): Promise<void> {
    try {
      await pushShown(services, uuid, { shown: vars, overwrite });
      report.done.push(uuid);
    } catch (error) {
      report.failed.push({ uuid, id: errorIdOf(error), message: messageOf(error) });
    }
  }

  const hadNothingToDo = todo.length + report.failed.length + report.skipped.length === 0 && !signal.aborted;
  if (fleet.different.length > 0) session.say(showFleet(screenOf(session.host, "stderr"), fleet));
  let left = todo.length + (fleet.left ?? 0);
  if (todo.length > 0 && !signal.aborted) {
    session.say(`${counted(todo.length, "resource")} to change.`);
    if (!yes && !(await session.confirm("Go on?"))) return NOT_CONFIRMED;
    left = await workThrough(todo, push, { ...how, total: todo.length, isHalted: () => signal.aborted });
  }
  session.sayWhatIsLeft(left, "The same command goes on.");
  return {
    data: signal.aborted ? { ...report, left } : report,
    show: (screen) =>
      `${hadNothingToDo ? "There was nothing to do.\n" : ""}${showReport(screen, report, "changed")}`,
    exitCode: report.failed.length + left > 0 ? FAILED : DONE,
  };
}

const parts = async () => ({
  ...(await import("../config-diff.ts")),
  ...(await import("../config-push.ts")),
  ...(await import("../config-vars.ts")),
  ...(await import("../work-through.ts")),
});

/** What the comparison already decides: resources that failed, were skipped, or differ only in vars that are kept. */
function reportOf(
  { failed, skipped, different }: FleetDifference,
  todo: FleetDifference["different"],
): TokenReport {
  const toChange = new Set(todo);
  const kept = different.filter((each) => !toChange.has(each)).map(({ uuid }) => ({ uuid, reason: "kept" }));
  return { done: [], failed: [...failed], skipped: [...skipped, ...kept] };
}

function inWords(plan: PushPlan): string {
  const { set, overwrite, remove } = plan;
  const line = (what: string, names: string[]) =>
    names.length > 0 ? [`${what}: ${safe(names.join(", "))}`] : [];
  return [
    ...line("To be set", set),
    ...line("To be overwritten", overwrite),
    ...line("To be removed", remove),
    ...leftInWords(plan),
  ].join("\n");
}

/** The vars that stay as the platform has them, and how to change those. */
function leftInWords({ keep, foreign }: PushPlan): string[] {
  const names = (list: string[]) => safe(list.join(", "));
  return [
    ...(keep.length > 0 ? [`Kept as the platform has it: ${names(keep)} (--overwrite changes that).`] : []),
    ...(foreign.length > 0
      ? [`Left alone, for it was never set from here: ${names(foreign)} (kit config set changes that).`]
      : []),
  ];
}

function nothingToDo(plan: PushPlan): string {
  return leftInWords(plan).join(" ") || "The platform has all that is wanted.";
}
