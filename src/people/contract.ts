import type { ComponentChildren, VNode } from "preact";
import type { Offer, PlanMeans, PlanOf, RegionOf } from "../offer.ts";
import type { Page } from "../pages/pages.tsx";

/**
 * One add-on resource, as the vendor's page for its customer sees it. For the page, marks in its texts that turn or hide
 * others are written out, as \u202e; actions get the texts as they came.
 */
export interface CustomerResource<Sold extends Offer = Offer> extends PlanMeans<Sold> {
  /** The platform's id of the resource, lower case. */
  uuid: string;
  /** The name customers see, if the platform sent one. */
  name: string | null;
  /** The bare plan name, such as `basic`. */
  plan: PlanOf<Sold>;
  /** True while the plan was changed and your service has not made the change yet. */
  isChangingPlan: boolean;
  region: RegionOf<Sold> | null;
  state: "provisioning" | "provisioned";
  /** The last sentence of your `finish`, while it is not done; null: it said nothing, or nothing is deferred. */
  progress: string | null;
  /** The app on which the add-on was installed; null while it is not known. */
  appName: string | null;
  createdAt: Date;
}

/** Who is signed on. */
export interface CustomerPerson {
  /** Null: the platform named nobody. */
  email: string | null;
  /**
   * The role that the platform names for this e-mail at the app: `owner`, `admin`, `collaborator`, `member`, or a word
   * that is newer than the kit. Null: it is not known, because the app's collaborators do not have this e-mail, or the
   * platform cannot be asked. Only a service with `actions` asks it, for each page.
   */
  role: string | null;
  /** The names of the permissions that the platform lists beside the role, such as `view`; empty: it lists none. */
  permissions: readonly string[];
}

/** What a page for a customer may use. `Action`: the names of your `actions`. */
export interface CustomerTools<Action extends string = string> {
  person: CustomerPerson;
  /** The address of the platform's dashboard, at the resource's app if that is known; null if `DASHBOARD_URL` is unset. */
  dashboard: string | null;
  /**
   * The form of one of your `actions`, around the fields and the button in `content`. Null for a person who may not send
   * it, and for an action that there is not, which is logged.
   */
  readonly form: (action: Action, content: ComponentChildren) => VNode | null;
}

/**
 * What a vendor writes for customers: the page of one resource, rendered at each request within 5 seconds; if it throws,
 * the kit shows the resource's plan and state. `../parts/cards.tsx` has cards, plans and bars for it. Every value in it is
 * escaped. The page's policy blocks scripts, styles of its own, and all images except `data:` ones.
 * `CustomerPage<typeof offer, "move">` has the names of the offer as types, and may have a form for the action `move` alone.
 */
export type CustomerPage<
  Sold extends Offer | string = string,
  Action extends string = Sold extends string ? Sold : never,
> = Sold extends Offer ? PageOf<Sold, Action> : PageOf<Offer, Action>;

type PageOf<Sold extends Offer, Action extends string> = (
  resource: CustomerResource<Sold>,
  page: CustomerTools<Action>,
) => Page | Promise<Page>;

/** Something that a customer may do on the page of a resource, by a form. */
export interface CustomerAction<Sold extends Offer = Offer> {
  /**
   * Does it, once for each form however often that is sent, and says in a sentence what came of it, which the page then
   * shows. The sentence stands in the resource's story: no secrets. The message of a `Refusal` that it throws is shown
   * too; anything else is logged, and the page says that it failed. `form` has the fields that were sent, as anybody may
   * have written them. `signal` is aborted when the time is over.
   */
  run(
    resource: CustomerResource<Sold>,
    form: URLSearchParams,
    person: CustomerPerson,
    signal: AbortSignal,
  ): Promise<string>;
  /**
   * For what cannot be undone: before `run`, the customer is asked on a page of its own. `question` says what is lost, in
   * whole sentences; `button` names the deed: "Delete all messages". The form's buttons look dangerous.
   */
  confirm?: { readonly question: string; readonly button: string };
  /** Whether this person may; unless given, owners, admins and collaborators of the app, if they may more than view it. */
  may?(person: CustomerPerson): boolean;
  /** It is given up after so many seconds: 5 unless given, 20 at most. What takes longer, store and do in a job. */
  mostSeconds?: number;
}
