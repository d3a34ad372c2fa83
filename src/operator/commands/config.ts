import type { ConfigVar } from "../../resources/config-vars.ts";
import { revealed } from "../../platform/authorizations.ts";
import {
  changedInWords,
  diffConfig,
  differing,
  getConfig,
  pushConfig,
  setConfig,
  type VarDifference,
} from "../config-vars.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import type { KitCommand, Session } from "./session.ts";
import type { Screen } from "./host.ts";
import { DONE, FAILED, type Outcome } from "./outcome.ts";
import { example, safe, table } from "./text.ts";

const REVEAL = ["--reveal", "show the values: they are the customer's secrets"] as const;

interface Options {
  yes?: boolean;
  reveal?: boolean;
  unset?: string[];
}

const MOST_VALUE_BYTES = 1024 * 1024;

export function addConfig(program: KitCommand): void {
  const config = program.command("config").description("the config vars of a resource's apps");

  config
    .command("get")
    .argument("<uuid>", "the resource", typedUuid)
    .option(...REVEAL)
    .description("the config vars as the platform has them")
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
    .addHelpText("after", example("kit config set UUID SHOP_TOKEN=- < token.txt"))
    .does(async (session, uuid: string, pairs: string[], options: Options) => {
      const changes = await readChanges(session, pairs, options.unset ?? []);
      const now = await setConfig(await session.context({ changes: true }), uuid, changes);
      return showConfig(now, options, changedInWords(changes.map(({ name }) => name)));
    });

  addDiffAndPush(config);
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

function addDiffAndPush(config: KitCommand): void {
  config
    .command("diff")
    .argument("<uuid>", "the resource", typedUuid)
    .option(...REVEAL)
    .description("what your service wants against what the platform has; exits with 1 if something differs")
    .addHelpText(
      "after",
      `
same     the platform has what your service wants
differs  it has another value: changed there by hand, or a change is on its way
missing  it has none
extra    it has one that your service no longer wants, or declares
foreign  it has one that was never set from here: no push touches it`,
    )
    .does(async (session, uuid: string, { reveal = false }: Options) => {
      const vars = await diffConfig(await session.context(), uuid);
      const isAsWanted = differing(vars).length === 0;
      const end = isAsWanted
        ? "Nothing that your service wants differs."
        : `To make it so on the platform:\n  kit config push ${uuid}`;
      return {
        data: reveal ? revealed(vars) : vars,
        show: (screen) => `${showVars(screen, vars, reveal)}\n\n${end}`,
        exitCode: isAsWanted ? DONE : FAILED,
      };
    });

  config
    .command("push")
    .argument("<uuid>", "the resource", typedUuid)
    .option("--yes", "do not ask")
    .option(...REVEAL)
    .description(
      "make the platform's config vars as your service wants them, but for those never set from here",
    )
    .does(async (session, uuid: string, options: Options) => {
      const { reveal = false, yes = false } = options;
      const context = await session.context({ changes: true });
      const vars = await diffConfig(context, uuid);
      const isAsWanted = differing(vars).length === 0;
      if (!isAsWanted) {
        session.say(showVars(session.screen(), vars, reveal));
        if (!yes) await session.confirm("Make them as your service wants them?");
      }
      const end = changedInWords(isAsWanted ? [] : await pushConfig(context, uuid));
      return showConfig(await getConfig(context, uuid), options, safe(end));
    });
}

/** Config vars as the platform has them, masked unless `reveal` is set. `end` is for people, shown below. */
function showConfig(config: readonly ConfigVar[], { reveal = false }: Options, end = ""): Outcome {
  const data = config.map(({ name, value }) => ({
    name,
    value: reveal || value === null ? value : "[secret]",
  }));
  return {
    data,
    show({ isTerminal }) {
      // A script gets the raw values; for a terminal, control characters are written out.
      const shown = isTerminal ? safe : String;
      const vars = data.map(({ name, value }) => shown(`${name}=${reveal ? (value ?? "") : "••••••••"}`));
      return [...(vars.length > 0 ? vars : ["No config vars are set."]), ...(end ? ["", end] : [])].join(
        "\n",
      );
    },
  };
}

function showVars(screen: Screen, vars: readonly VarDifference[], reveal: boolean): string {
  if (vars.length === 0) return "There are no config vars, here or on the platform.";
  const rows = vars.map(({ name, state, value, platform }) => ({
    ...{ name, state },
    ...(reveal && { wanted: value?.reveal() ?? "–", platform: platform?.reveal() ?? "–" }),
  }));
  return table(screen, rows);
}
