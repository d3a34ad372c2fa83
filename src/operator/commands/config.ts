import type { Context } from "../../context.ts";
import { revealed } from "../../platform/authorizations.ts";
import { refuseWhileHeld } from "../../processes/history.ts";
import { type ConfigVar, isPublic } from "../../resources/config-vars.ts";
import { HIDDEN, Secret } from "../../secret.ts";
import {
  changedInWords,
  diffConfig,
  differing,
  getConfig,
  pullConfig,
  pushConfig,
  setConfig,
  type VarDifference,
} from "../config-vars.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { counted } from "../wording.ts";
import type { Paint } from "./host.ts";
import { DONE, example, FAILED, type Outcome, safe, table } from "./outcome.ts";
import type { KitCommand, Session } from "./session.ts";

interface Options {
  yes?: boolean;
  reveal?: boolean;
  unset?: string[];
}

export function addConfig(program: KitCommand): void {
  const config = program
    .command("config")
    .summary("config vars of a resource's apps")
    .description("the config vars of a resource's apps");
  const ofOne = (verb: string) =>
    config
      .command(verb)
      .argument("<uuid>", "the resource", typedUuid)
      .option("--reveal", "show all values: those that are not public are the customer's secrets");

  ofOne("get")
    .description("the config vars as the platform has them")
    .does(async (session, uuid: string, options: Options) => {
      const context = await session.context();
      return showConfig(context, await getConfig(context, uuid), options);
    });

  ofOne("set")
    .argument("[NAME=VALUE...]", "NAME=- takes the value from standard input")
    .option("--unset <name...>", "remove these")
    .description("change single config vars, on the platform and in our database")
    .addHelpText("after", example("kit config set UUID SHOP_TOKEN=- < token.txt"))
    .does(async (session, uuid: string, pairs: string[], options: Options) => {
      const changes = await readChanges(session, pairs, options.unset ?? []);
      const context = await session.context({ changes: true });
      const now = await setConfig(context, uuid, changes);
      return showConfig(context, now, options, changedInWords(changes.map(({ name }) => name)));
    });

  ofOne("diff")
    .description("what your service wants against what the platform has; exits with 1 if something differs")
    .addHelpText(
      "after",
      `
same     the platform has what your service wants
differs  it has another value: changed there by hand, or a change is on its way
missing  it has none
extra    it has one that your service no longer wants, or declares
foreign  it has one that was never set from here: no push touches it

Where the add-on is attached under another name, its config vars have other names
in the app, which stand beside the declared ones.`,
    )
    .does(async (session, uuid: string, { reveal = false }: Options) => {
      const vars = await diffConfig(await session.context(), uuid);
      return {
        data: reveal ? revealed(vars) : vars,
        show: (paint) => showVars(paint, vars, reveal),
        exitCode: differing(vars).length === 0 ? DONE : FAILED,
      };
    });

  ofOne("push")
    .option("--yes", "do not ask")
    .description("set them on the platform as your service wants them, except those never set from here")
    .does(async (session, uuid: string, options: Options) => {
      const context = await session.context({ changes: true });
      await refuseWhileHeld(context.db);
      const vars = await diffConfig(context, uuid);
      const isAsWanted = differing(vars).length === 0;
      if (!isAsWanted) {
        session.say(showVars(session.paint(), vars, options.reveal));
        if (!options.yes) await session.confirm("Make them as your service wants them?");
      }
      const end = changedInWords(isAsWanted ? [] : await pushConfig(context, uuid));
      return showConfig(context, await getConfig(context, uuid), options, end);
    });

  ofOne("pull")
    .option("--yes", "do not ask")
    .description(
      "store what the platform has of your service's vars as wanted from now on: after a restored backup",
    )
    .does(async (session, uuid: string, options: Options) => {
      const context = await session.context({ changes: true });
      const vars = differing(await diffConfig(context, uuid));
      if (vars.length > 0) {
        session.say(showVars(session.paint(), vars, options.reveal));
        if (!options.yes) await session.confirm("Take over what the platform has?");
      }
      const end = changedInWords(vars.length > 0 ? await pullConfig(context, uuid) : []);
      return showConfig(context, await getConfig(context, uuid), options, end);
    });
}

async function readChanges(
  session: Session,
  pairs: readonly string[],
  unset: readonly string[],
): Promise<ConfigVar[]> {
  const changes = unset.map((name): ConfigVar => ({ name, value: null }));
  for (const pair of pairs) {
    const end = pair.indexOf("=");
    // The pair may hold a secret, so the message does not repeat it.
    if (end < 1) throw new UsedWrongly("A config var is given as NAME=VALUE.");
    const [name, typed] = [pair.slice(0, end), pair.slice(end + 1)];
    const value = typed === "-" ? (await session.secret(`The value of ${name}`)).reveal() : typed;
    changes.push({ name, value });
  }
  if (changes.length === 0) throw new UsedWrongly("Nothing to change: give NAME=VALUE, or --unset NAME.");
  if (new Set(changes.map(({ name }) => name)).size < changes.length)
    throw new UsedWrongly("Name each config var once.");
  return changes;
}

/**
 * Config vars as the platform has them. Those that are not public are masked unless `reveal` is set. `end` is for people, shown
 * below.
 */
function showConfig(
  { offer }: Pick<Context, "offer">,
  config: readonly ConfigVar[],
  { reveal = false }: Options,
  end = "",
): Outcome {
  const data = config.map(({ name, value }) => ({
    name,
    value: reveal || value === null || isPublic(offer, name) ? value : HIDDEN,
  }));
  const vars = data.map(({ name, value }) => `${name}=${value ?? ""}`);
  return {
    data,
    show: () => [...vars, end || `${counted(vars.length, "config var")}.`].map(safe).join("\n"),
  };
}

function showVars(paint: Paint, vars: readonly VarDifference[], reveal = false): string {
  const isRenamed = vars.some(({ inApp }) => inApp !== undefined);
  const hasValues = reveal || vars.some(({ value, platform }) => isShown(value) || isShown(platform));
  const inWords = (value: VarDifference["value"]) =>
    reveal && value instanceof Secret ? value.reveal() : String(value ?? "–");
  const rows = vars.map(({ name, inApp, state, value, platform }) => ({
    name,
    ...(isRenamed && { "in the app": inApp ?? name }),
    state,
    ...(hasValues && { wanted: inWords(value), platform: inWords(platform) }),
  }));
  return rows.length > 0 ? table(paint, rows) : "Neither your service nor the platform has any.";
}

const isShown = (value: VarDifference["value"]) => typeof value === "string";
