import type { ComponentChildren } from "preact";
import type { Control } from "../../control/control.ts";
import type { Platform } from "../../platform.ts";
import type { Form } from "./form.ts";

/** A form that could not be used: shown again as it was filled in, with the reason at its field. */
export interface Attempt {
  form: string;
  values: Form;
  /** Null: the reason is about the form as a whole. */
  field: string | null;
  message: string;
}

/** What a page is made from, at the moment it is asked for. */
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

/** Makes a page; `id` is what its address names. Throws `Refused` when there is no such thing. */
export type ShowPage = (view: View, id: string) => MarketPage;

/** What comes of a form that could be used: where the browser goes, and what is said there. */
export interface Outcome {
  to: string;
  told: Notice;
}

export interface Notice {
  text: string;
  /** What the platform's document does not allow in the answer. */
  complaints?: readonly string[];
  /** Shown this once, and with it what to do with it. */
  secret?: string;
}

/** One form of a page. */
export interface Action {
  path: string;
  form: string;
  /** The page the form stands on, and its address. */
  page: ShowPage;
  at(id: string): string;
  act(view: View, form: Form, id: string): Promise<Outcome> | Outcome;
  /** Which field a refusal of the platform is about, by its sentence. */
  blame?: Record<string, RegExp>;
}
