import type { ComponentChildren } from "preact";

/** What a route has to show. */
export interface Page {
  title: string;
  content: ComponentChildren;
  /** 200 unless given. */
  status?: number;
  /** What a part's pages have beside the frame of all. */
  extras?: PageExtras;
}

/** Addresses as a browser asks for them; what stands there must be ours, for the policy lets nothing else in. */
export interface PageExtras {
  stylesheet: string;
  script: string;
  navigation: ComponentChildren;
}
