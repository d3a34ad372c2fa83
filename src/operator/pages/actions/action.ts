import type { ComponentChildren } from "preact";
import type { OpenContext } from "../../../open-context.ts";
import type { Form } from "../read-form.ts";
import type { ActionWork } from "../work/action-runner.ts";

/** The content of the page that asks for confirmation before an action. */
export interface Question {
  title: string;
  /** What will happen, and the fields to fill in. */
  content: ComponentChildren;
  /** The label of the button; null if there is nothing to do now. */
  button: string | null;
}

/** Something an operator can do here: an operation of `src/operator`, with a page that asks first. */
export interface Action {
  /** The name in the audit trail and in the address. */
  name: string;
  /** The text of links to it. */
  label: string;
  ask(services: OpenContext, uuid: string): Promise<Question> | Question;
  /** The work that a form asks for. Throws `UsedWrongly` if the form is invalid: then nothing was begun. */
  work(services: OpenContext, uuid: string, form: Form): ActionWork;
}

/**
 * Actions on one resource, at `/operator/resources/:uuid/NAME`; and on all, at `/operator/NAME`, for which `uuid` is
 * empty.
 */
export interface Actions {
  ofOne: readonly Action[];
  ofAll: readonly Action[];
}
