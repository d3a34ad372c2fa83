import type { ComponentChildren } from "preact";

/** What a route shows. */
export interface Page {
  title: string;
  content: ComponentChildren;
  /** 200 unless given. */
  status?: number;
  /** What the pages of one part add to the common frame. */
  extras?: PageExtras;
}

/**
 * `stylesheet` and `script` are addresses as the browser requests them; they must be of our origin, as the policy
 * blocks all others.
 */
export interface PageExtras {
  stylesheet: string;
  script: string;
  navigation: ComponentChildren;
  footer: ComponentChildren;
}
