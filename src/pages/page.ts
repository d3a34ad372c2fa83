import type { ComponentChildren } from "preact";

/** What a route has to show. */
export interface Page {
  title: string;
  content: ComponentChildren;
  /** 200 unless given. */
  status?: number;
}
