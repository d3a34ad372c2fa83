import { Command } from "commander";
import type { Outcome } from "./outcome.ts";
import type { Act, Session } from "./session.ts";

/** A command of `kit`. Its subcommands are made by it, and are such commands too. */
export class KitCommand extends Command {
  readonly #act: Act;

  constructor(act: Act, name?: string) {
    super(name);
    this.#act = act;
  }

  override createCommand(name?: string): KitCommand {
    return new KitCommand(this.#act, name);
  }

  /** `run` is given a session, and then what commander gives: the arguments, and the options. */
  does<Args extends unknown[]>(run: (session: Session, ...args: Args) => Promise<Outcome>): this {
    return this.action(this.#act(run));
  }
}
