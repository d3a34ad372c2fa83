import { typedUuid, UsedWrongly } from "../errors.ts";
import type { ConfigVar } from "../../resources/config-vars.ts";
import { EXAMPLE_UUID, examples, type AddCommand } from "./command.ts";
import type { Outcome } from "./outcome.ts";
import type { Session } from "./session.ts";
import { readSecret } from "./standard-input.ts";
import { addDiff } from "./config-diff.ts";
import { addPush } from "./config-push.ts";
import { maskedConfig } from "./masked-config.ts";

interface Options {
  reveal?: boolean;
  unset?: string[];
}

const REVEAL = ["--reveal", "show the values: they are the customer's secrets"] as const;

export const addConfig: AddCommand = (program, act) => {
  const config = program.command("config").description("the config vars of a resource's apps");

  config
    .command("get")
    .argument("<uuid>", "the resource", typedUuid)
    .option(...REVEAL)
    .description("the config vars as the platform has them")
    .addHelpText("after", examples(`kit config get ${EXAMPLE_UUID}`))
    .action(act(get));

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
    .action(act(set));

  addDiff(config, act);
  addPush(config, act);
};

async function get(session: Session, uuid: string, options: Options): Promise<Outcome> {
  const { getConfig } = await import("../config-vars.ts");
  return maskedConfig(await getConfig(await session.services(), uuid), options);
}

async function set(session: Session, uuid: string, pairs: string[], options: Options): Promise<Outcome> {
  const changes = await readChanges(session, pairs, options.unset ?? []);
  const { setConfig } = await import("../config-vars.ts");
  const config = await setConfig(await session.services(), uuid, changes);
  return maskedConfig(config, options, inWords(changes));
}

function inWords(changes: readonly ConfigVar[]): string {
  const names = (isWanted: (value: string | null) => boolean) =>
    changes.filter(({ value }) => isWanted(value)).map(({ name }) => name);
  const line = (what: string, those: string[]) => (those.length > 0 ? [`${what} ${those.join(", ")}.`] : []);
  return [
    ...line(
      "Set",
      names((value) => value !== null),
    ),
    ...line(
      "Removed",
      names((value) => value === null),
    ),
  ].join(" ");
}

async function readChanges(
  { host }: Session,
  pairs: readonly string[],
  unset: readonly string[],
): Promise<ConfigVar[]> {
  const changes: ConfigVar[] = unset.map((name) => ({ name, value: null }));
  let fromInput: ConfigVar | undefined;
  for (const pair of pairs) {
    const end = pair.indexOf("=");
    // The pair may hold a secret, so the message does not repeat it.
    if (end < 1) throw new UsedWrongly("A config var is given as NAME=VALUE.");
    const change = { name: pair.slice(0, end), value: pair.slice(end + 1) };
    changes.push(change);
    if (change.value !== "-") continue;
    if (fromInput) throw new UsedWrongly("Only one value can come from standard input.");
    fromInput = change;
  }
  if (changes.length === 0) throw new UsedWrongly("Nothing to change: give NAME=VALUE, or --unset NAME.");
  if (new Set(changes.map(({ name }) => name)).size < changes.length) {
    throw new UsedWrongly("A config var is named twice.");
  }
  if (fromInput) fromInput.value = (await readSecret(host, `The value of ${fromInput.name}`)).reveal();
  return changes;
}
