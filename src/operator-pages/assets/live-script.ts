import { asset } from "../../pages/asset.ts";

/** The header by which a page that is asked for again is told from one that is opened. */
export const LOOKS_AGAIN = "x-looks-again";

/**
 * Asks for the page again and takes over the parts that are marked `data-live` (milliseconds). Without it each page
 * stays as it was loaded. Whatever somebody is using just now, with the keyboard, opened or marked, is left alone; a
 * page in the background asks for nothing, and one that cannot be had is asked for again more slowly. Who is no longer
 * let in is shown so.
 */
const SCRIPT = `"use strict";
(() => {
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const marked = getSelection();
  const isMarked = (part) => !marked.isCollapsed && marked.containsNode(part, true);
  const isInUse = (part) =>
    part.contains(document.activeElement) || part.querySelector("details[open]") || isMarked(part);
  const pause = () => Math.min(...parts().map((part) => Number(part.dataset.live)));
  let slower = 1;

  async function look() {
    if (!document.hidden) {
      try {
        const answer = await fetch(location.href, { headers: { accept: "text/html", "${LOOKS_AGAIN}": "1" } });
        if (answer.status === 401 || answer.status === 403) return location.reload();
        if (!answer.ok) throw new Error(String(answer.status));
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const part of parts()) {
          const next = fresh.getElementById(part.id);
          if (next && !isInUse(part) && next.outerHTML !== part.outerHTML) part.replaceWith(next);
        }
        slower = 1;
      } catch {
        slower = Math.min(slower * 2, 16);
      }
    }
    if (parts().length > 0) setTimeout(look, pause() * slower);
  }
  if (parts().length > 0) setTimeout(look, pause());
})();
`;

export const liveScript = asset("private", "live.js", "text/javascript", SCRIPT);
