import { asset } from "../../pages/asset.ts";

/** The header that tells a request of this script from one that opens the page. */
export const LOOKS_AGAIN = "x-looks-again";

/**
 * Requests the page again at an interval and replaces the parts that have `data-live` (milliseconds). Without the
 * script each page stays as it was loaded. A part in use is left alone: it has the keyboard focus, an open `details`
 * element or a text selection. A page in the background requests nothing, and after a failure the interval grows. On a
 * 401 or 403 the page reloads, so the operator sees that access has ended.
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
