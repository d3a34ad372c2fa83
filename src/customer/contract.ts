import type { Page } from "../pages/page.ts";

/** One add-on resource, as the vendor's page for its customer sees it. */
export interface CustomerResource {
  /** The platform's id of the resource, lower case. */
  uuid: string;
  /** The name customers see, if the platform sent one. */
  name: string | null;
  /** The bare plan name, such as `basic`. */
  plan: string;
  /** The plan was changed and your service has not made the new one yet. */
  isChangingPlan: boolean;
  region: string | null;
  state: "provisioning" | "provisioned";
  /** What your `finish` said last, while it is not done; null: nothing, or nothing is put off. */
  progress: string | null;
  /** The app it was installed on, if it is known by now. */
  appName: string | null;
  createdAt: Date;
}

/**
 * What a vendor writes for customers: the page of one resource, made anew each time it is looked at. It has 5 seconds.
 * Every value in it is escaped; scripts, styles of its own, and images but those written as `data:` are stopped by the
 * page's policy.
 */
export type CustomerPage = (resource: CustomerResource) => Page | Promise<Page>;
