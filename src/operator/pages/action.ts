import type { ComponentChildren } from "preact";
import type { OpenContext } from "../../context.ts";
import type { Operator } from "../audit.ts";
import type { How } from "../work-through.ts";

/** What an action does. It ends soon after `signal` is aborted; an error becomes its failure. The message may be shown. */
export type ActionWork = (how: How) => Promise<WorkEnd>;
export interface WorkEnd {
  isDone: boolean;
  /** The stop of this process has left some of it. */
  isInterrupted?: boolean;
  message: string;
}

/** Something an operator can do here: an operation of `src/operator`, with a page that asks first. */
export interface Action {
  /** The name in the audit trail and in the address. */
  name: string;
  label: string;
  /** What it ends or gives up does not come back: its button stands apart, in red. */
  isDangerous?: boolean;
  /** Two forms of it may ask for different things, so that one does not stand for the other while it runs. */
  hasInput?: boolean;
  /** What its page says before the button is pressed. */
  ask(ctx: OpenContext, uuid: string): Promise<ComponentChildren> | ComponentChildren;
  /** The path of the page that it belongs to, if that is not the overview or a resource's. */
  under?: string;
  /** A sentence if it cannot be done now. */
  whyNot?: ((ctx: OpenContext) => Promise<string | null> | string | null) | undefined;
  /** The work that a form asks for. Throws `UsedWrongly` if the form is invalid: then nothing was begun. */
  work(ctx: OpenContext, uuid: string, form: URLSearchParams, operator: Operator): ActionWork;
}
