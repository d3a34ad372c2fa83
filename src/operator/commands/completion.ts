import { Argument, type Command, type Option } from "commander";
import { yourActions } from "../your-actions.ts";
import { type Place, SHELLS } from "./completion-scripts.ts";
import { example } from "./outcome.ts";
import type { KitCommand, Session } from "./session.ts";

export function addCompletion(program: KitCommand): void {
  program
    .command("completion")
    .summary("completion for bash, zsh and fish")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SHELLS)))
    .description("print a script by which your shell completes commands, options and their values")
    .addHelpText(
      "after",
      `${example("source <(kit completion bash)")}

Where the service's settings are, it also completes the names of your actions and jobs.

It completes the word kit. If your shell has no such word, first make it one, in the
folder of the project or where the service is deployed:
  kit() { npm run --silent kit -- "$@"; }
  kit() { node /path/to/dist/kit.js "$@"; }
(in fish: function kit; npm run --silent kit -- $argv; end)`,
    )
    .does(async (session, shell: keyof typeof SHELLS) => {
      const names = await namesOfYours(session).catch(() => NONE);
      const places = placesOf(program).map((place) => withNames(place, names[place.at] ?? []));
      const script = SHELLS[shell](places);
      return { data: { shell, script }, show: () => script };
    });
}

type Names = Readonly<Record<string, readonly string[]>>;
const NONE: Names = {};

/** What your service gives a name, by the command that takes it first. Throws where the service cannot be made. */
async function namesOfYours(session: Session): Promise<Names> {
  const ctx = await session.openContext(session.settings());
  const actions = yourActions(ctx).map(({ name }) => name);
  return { action: ["list", ...actions], "jobs run": ctx.yourJobs };
}

function withNames(place: Place, values: readonly string[]): Place {
  const [first, ...others] = place.args;
  if (!first || values.length === 0) return place;
  return { ...place, args: [{ ...first, values }, ...others] };
}

/** Every command of a program, groups and the program itself included. */
export function placesOf(program: Command): Place[] {
  const shared = program.options.filter(({ long }) => long !== "--version");
  const help = { name: "--help", about: "say how it is used", values: null };
  const visit = (command: Command, words: readonly string[]): Place[] => [
    {
      at: words.join(" "),
      commands: command.commands.map((each) => ({
        name: each.name(),
        about: each.summary() || each.description(),
      })),
      options: [...[...new Set([...command.options, ...shared])].map(optionOf), help],
      args: command.registeredArguments.map((argument) => ({
        values: argument.argChoices ?? [],
        isFile: argument.name() === "file",
      })),
    },
    ...command.commands.flatMap((each) => visit(each, [...words, each.name()])),
  ];
  return visit(program, []);
}

function optionOf({ long, description, argChoices, required, optional }: Option): Place["options"][number] {
  return { name: long!, about: description, values: required || optional ? (argChoices ?? []) : null };
}
