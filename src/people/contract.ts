import type { Page } from "../pages/pages.tsx";

/** One add-on resource, as the vendor's page for its customer sees it. */
export interface CustomerResource {
  /** The platform's id of the resource, lower case. */
  uuid: string;
  /** The name customers see, if the platform sent one. */
  name: string | null;
  /** The bare plan name, such as `basic`. */
  plan: string;
  /** True while the plan was changed and your service has not made the change yet. */
  isChangingPlan: boolean;
  region: string | null;
  state: "provisioning" | "provisioned";
  /**
   * The last sentence of your `finish`, while it is not done; null when it said nothing or when nothing is deferred.
   */
  progress: string | null;
  /** The app on which the add-on was installed; null while it is not known. */
  appName: string | null;
  createdAt: Date;
}

/**
 * What a vendor writes for customers: the page of one resource, rendered at each request within 5 seconds. Every value
 * in it is escaped. The page's policy blocks scripts, styles of its own, and all images except `data:` ones.
 */
export type CustomerPage = (resource: CustomerResource) => Page | Promise<Page>;
