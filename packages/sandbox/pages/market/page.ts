import type { ComponentChildren } from "preact";
import type { Control } from "../../control/control.ts";
import type { Platform } from "../../platform.ts";
import type { Form } from "./form.ts";

/** A submitted form that was refused: shown again as it was filled in, with the reason at its field. */
export interface Attempt {
  form: string;
  values: Form;
  /** Null: the reason concerns the form as a whole. */
  field: string | null;
  message: string;
}

/** The data that a page is rendered from, when it is requested. */
export interface View {
  platform: Platform;
  control: Control;
  query: Record<string, unknown>;
  attempt: Attempt | null;
}

/** The part of the marketplace that a page belongs to. */
export type Part = "apps" | "ledger" | "platform";

export interface MarketPage {
  title: string;
  part: Part;
  content: ComponentChildren;
}

/** Renders a page; `id` is the `:id` of its path. Throws `Refused` when that does not exist. */
export type ShowPage = (view: View, id: string) => MarketPage;

/** The result of an accepted form: where the browser goes, and the notice shown there. */
export interface Outcome {
  to: string;
  told: Notice;
}

export interface Notice {
  text: string;
  /** What in the service's answer violates the platform's document. */
  complaints?: readonly string[];
  /** A secret that is shown only this once. */
  secret?: string;
}

/** One form of a page. */
export interface Action {
  path: string;
  form: string;
  /** The page that has the form, and its path. */
  page: ShowPage;
  at(id: string): string;
  act(view: View, form: Form, id: string): Promise<Outcome> | Outcome;
  /** Regular expressions that tell by the message of a refusal which field it concerns. */
  blame?: Record<string, RegExp>;
}
