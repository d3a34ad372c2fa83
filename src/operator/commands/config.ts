import type { Command } from "commander";
import type { ConfigVar } from "../../resources/config-vars.ts";
import { getConfig, setConfig } from "../config-vars.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { addCompare, REVEAL, showConfig } from "./config-compare.ts";
import { EXAMPLE_UUID, examples } from "./examples.ts";
import type { Act, Session } from "./session.ts";

interface Options {
  reveal?: boolean;
  unset?: string[];
}

/** One value of a config var may come on standard input. */
const MOST_VALUE_BYTES = 1024 * 1024;

export function addConfig(program: Command, act: Act): void {
  const config = program.command("config").description("the config vars of a resource's apps");

  config
    .command("get")
    .argument("<uuid>", "the resource", typedUuid)
    .option(...REVEAL)
    .description("the config vars as the platform has them")
    .addHelpText("after", examples(`kit config get ${EXAMPLE_UUID}`))
    .action(
      act(async (session, uuid: string, options: Options) =>
        showConfig(await getConfig(await session.context(), uuid), options),
      ),
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
    .action(
      act(async (session, uuid: string, pairs: string[], options: Options) => {
        const changes = await readChanges(session, pairs, options.unset ?? []);
        const now = await setConfig(await session.context(), uuid, changes);
        return showConfig(now, options, `Changed: ${changes.map(({ name }) => name).join(", ")}.`);
      }),
    );

  addCompare(config, act);
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
