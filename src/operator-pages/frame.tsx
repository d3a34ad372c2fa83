import type { Request } from "express";
import type { Page, Pages } from "../pages/pages.tsx";
import { liveScript } from "./assets/live-script.ts";
import { stylesheet } from "./assets/stylesheet.ts";

/** Where these pages stand. */
export const MOUNT = "/operator";

const PLACES = [
  { path: "", name: "Overview" },
  { path: "/resources", name: "Resources" },
  { path: "/check-up", name: "Check-up" },
  { path: "/actions", name: "Audit trail" },
];

/** A page of the operator's: the frame of all pages with the way to the others. */
export function inFrame(page: Page, request: Request, { addressOf }: Pages): Page {
  const root = addressOf(request).base + MOUNT;
  const here = PLACES.findLast(({ path }) => request.path.startsWith(path))!;
  const navigation = (
    <nav aria-label="The operator's pages">
      <ul>
        {PLACES.map(({ path, name }) => (
          <li>
            <a href={root + path} aria-current={path === here.path ? "page" : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
  const extras = { stylesheet: root + stylesheet.name, script: root + liveScript.name, navigation };
  return { ...page, extras };
}
