import type { ComponentChildren, VNode } from "preact";
import type { ConfigVarOf, Offer, PlanMeans, PlanOf, RegionOf } from "../offer.ts";
import type { Page } from "../pages/pages.tsx";
import type { Suspended } from "../resources/contract.ts";

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
  /** Since when it is suspended, and why; null: it is not. The kit says so above your page. */
  suspended: Suspended | null;
  /** The app on which the add-on was installed; null while it is not known. */
  appName: string | null;
  /** The app's config vars, by the names in your offer. */
  configVars: Readonly<Record<ConfigVarOf<Sold>, CustomerConfigVar>>;
  createdAt: Date;
}

/** A config var as the customer's app has it. */
export interface CustomerConfigVar {
  /**
   * Its name there, which begins with another word where the add-on is attached under another name: `EVENTS_URL`. As in your
   * offer while the platform has not said so.
   */
  name: string;
  /** The value of one that is public; null of all others, and while it is not set. */
  value: string | null;
}

/** Who is signed on. */
export interface CustomerPerson {
  /** Null: the platform named nobody. */
  email: string | null;
  /**
   * The role that the platform names for this e-mail at the app: `owner`, `admin`, `collaborator`, `member`, or a word
   * that is newer than the kit. Null: it is not known, because the app's collaborators do not have this e-mail, or the
   * platform cannot be asked. It is asked for each page, if your service has `actions`, or a `may` of a page or download.
   */
  role: string | null;
  /** The names of the permissions that the platform lists beside the role, such as `view`; empty: it lists none. */
  permissions: readonly string[];
}

/**
 * The parameters of an address, as anybody may have written them: the first 20 whose names have at most 60 characters and
 * whose values have at most 500, without control characters. Of several with one name, the first. On a page, marks that turn
 * or hide other texts are written out in them, too.
 */
export type PageQuery = Readonly<Record<string, string | undefined>>;

/**
 * What a page for a customer may use. `Action`: the names of your `actions`. `Place`: the names of your `pages` and
 * `downloads`.
 */
export interface CustomerTools<Action extends string = string, Place extends string = string> {
  person: CustomerPerson;
  query: PageQuery;
  /** The address of the platform's dashboard, at the resource's app if that is known; null if `DASHBOARD_URL` is unset. */
  dashboard: string | null;
  /**
   * The form of one of your `actions`, around the fields and the button in `content`. Null for a person who may not send
   * it, and for an action that there is not, which is logged.
   */
  readonly form: (action: Action, content: ComponentChildren) => VNode | null;
  /**
   * A link to one of your `pages`, to one of your `downloads`, or to the page of `customerPage` (`overview`), with these
   * parameters. Null for a person who may not see it, and for a place that there is not, which is logged.
   */
  readonly link: (
    to: Place | "overview",
    content: ComponentChildren,
    query?: Readonly<Record<string, string>>,
  ) => VNode | null;
}

/**
 * What a vendor writes for customers: the page of one resource, rendered at each request within 5 seconds; if it throws,
 * the kit shows the resource's plan and state. `../parts/cards.tsx` has cards, plans and bars for it. Every value in it is
 * escaped. The page's policy blocks scripts, styles of its own, and all images except `data:` ones.
 * `CustomerPage<typeof offer, "move", "usage" | "usage.csv">` has the names of the offer as types, and may have a form for the
 * action `move`, and links to these places, alone.
 */
export type CustomerPage<
  Sold extends Offer | string = string,
  Action extends string = Sold extends string ? Sold : never,
  Place extends string = Sold extends string ? string : never,
> = Sold extends Offer ? PageOf<Sold, Action, Place> : PageOf<Offer, Action, Place>;

type PageOf<Sold extends Offer, Action extends string, Place extends string> = (
  resource: CustomerResource<Sold>,
  page: CustomerTools<Action, Place>,
) => Page | Promise<Page>;

/** What may be for some of the people alone who work on an app. */
interface ForSome {
  /** Whether this person may see it; everybody who is signed on, unless given. */
  may?(person: CustomerPerson): boolean;
}

/** Another page beside that of `customerPage`, with the same limits. */
export interface CustomerSubPage<
  Sold extends Offer = Offer,
  Action extends string = string,
  Place extends string = string,
> extends ForSome {
  /** Its heading, and its name in the menu. */
  title: string;
  /** What stands below the heading. The sentence of a `Refusal` is shown in its place, with its status. */
  render(
    resource: CustomerResource<Sold>,
    page: CustomerTools<Action, Place>,
  ): ComponentChildren | Promise<ComponentChildren>;
  /** The menu does not have it, for it needs parameters that links bring: one message of many. */
  isUnlisted?: boolean;
}

/** A file for customers, made when it is asked for. Its name is that in the address, and on the customer's disk. */
export interface CustomerDownload<Sold extends Offer = Offer> extends ForSome {
  /**
   * Makes the content, whole or in pieces, within 60 seconds until its last byte has left. The type is that of the name's
   * ending. The sentence of a `Refusal` is shown as a page, with its status. `csv` of `../parts/csv.ts` writes tables.
   */
  content(
    resource: CustomerResource<Sold>,
    download: DownloadTools,
  ): DownloadContent | Promise<DownloadContent>;
}

export interface DownloadTools {
  person: CustomerPerson;
  /** As they came: a file has no marks that are written out. */
  query: PageQuery;
  /** Aborted when the time is over, or nobody waits any more. */
  signal: AbortSignal;
}

export type DownloadContent = string | Uint8Array | AsyncIterable<string | Uint8Array>;

type FileName = `${string}.${string}`;

/** Your `pages`: those of the names in `Place` that have no dot. */
export type CustomerPages<
  Sold extends Offer = Offer,
  Action extends string = string,
  Place extends string = string,
> = Readonly<Record<Exclude<Place, FileName>, CustomerSubPage<Sold, Action, Place>>>;

/** Your `downloads`: those of the names in `Place` that have one. */
export type CustomerDownloads<Sold extends Offer = Offer, Place extends string = string> = Readonly<
  Record<string extends Place ? string : Extract<Place, FileName>, CustomerDownload<Sold>>
>;

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
