import { asset } from "../../pages/style.ts";

/** The header that tells a request of this script from one that opens the page. */
export const LOOKS_AGAIN = "x-looks-again";

/**
 * Requests the page again at an interval and replaces the parts that have `data-live` (milliseconds). Without the
 * script each page stays as it was loaded. A part in use is left alone: it has the keyboard focus, an open `details`
 * element or a text selection. A page in the background requests nothing. On a
 * 401 or 403 the page reloads, so the operator sees that access has ended.
 */
const SCRIPT = `"use strict";
(() => {
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const isMarked = (part) => !getSelection().isCollapsed && getSelection().containsNode(part, true);
  const isInUse = (part) =>
    part.contains(document.activeElement) || part.querySelector("details[open]") || isMarked(part);

  async function look() {
    if (!document.hidden) {
      const answer = await fetch(location.href, { headers: { accept: "text/html", "${LOOKS_AGAIN}": "1" } });
      if (answer.status === 401 || answer.status === 403) return location.reload();
      const fresh = new DOMParser().parseFromString(answer.ok ? await answer.text() : "", "text/html");
      for (const part of parts()) {
        const next = fresh.getElementById(part.id);
        if (next && !isInUse(part) && next.outerHTML !== part.outerHTML) part.replaceWith(next);
      }
    }
  }

  function again() {
    const [part] = parts();
    if (part) setTimeout(() => look().catch(() => undefined).then(again), Number(part.dataset.live));
  }
  again();
})();
`;

export const liveScript = asset("private", "live.js", "text/javascript", SCRIPT);
