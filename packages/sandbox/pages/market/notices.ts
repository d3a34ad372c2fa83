import { randomUUID } from "node:crypto";
import type { Notice } from "./page.ts";

const MOST_KEPT = 50;

/** Notices for the page that follows a form. Each is shown once: loading that page again does not show it again. */
export function createNotices() {
  const kept = new Map<string, Notice>();
  return {
    /** Stores a notice and returns the name by which it can be taken. */
    keep(notice: Notice): string {
      const [oldest] = kept.keys();
      if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
      const name = randomUUID();
      kept.set(name, notice);
      return name;
    },
    take(name: unknown): Notice | null {
      const notice = kept.get(String(name)) ?? null;
      kept.delete(String(name));
      return notice;
    },
  };
}
