import type { ComponentChildren } from "preact";
import type { Services } from "../../services.ts";
import type { Form } from "../read-form.ts";
import type { Work } from "../work/workbench.ts";

/** What stands on the page that asks before anything is done. */
export interface Question {
  title: string;
  /** What will happen, and the fields there are to fill in. */
  content: ComponentChildren;
  /** What the button says; null: there is nothing that could be done now. */
  button: string | null;
}

/** Something an operator can do here: an operation of `src/operator`, with a page that asks first. */
export interface Action {
  /** As the audit trail and the address say it. */
  name: string;
  /** As a link says it. */
  label: string;
  ask(services: Services, uuid: string): Promise<Question> | Question;
  /** What a form asks for. Throws `UsedWrongly` if that makes no sense: then nothing was begun. */
  work(services: Services, uuid: string, form: Form): Work;
}

/** Of one resource, at `/operator/resources/:uuid/NAME`; of all, at `/operator/NAME`, where `uuid` is empty. */
export interface Actions {
  ofOne: readonly Action[];
  ofAll: readonly Action[];
}
