import type { Secret } from "../secret.ts";
import type { CustomerPerson, CustomerResource, PageQuery } from "./contract.ts";

/** A page of a resource. */
export interface Place {
  /** One of the vendor's `pages`; null: that of `customerPage`. */
  page: string | null;
  query: PageQuery;
}

export interface Visit {
  /** Null: an operator looks at the page, and its forms do nothing. */
  session: Secret | null;
  resource: CustomerResource;
  person: CustomerPerson;
  userId: string | null;
  /** The path of the resource's pages behind the service's address. */
  at: string;
  /** The page that is shown, or from which a form was sent. */
  place: Place;
}
