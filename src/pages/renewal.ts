import { createHash } from "node:crypto";
import type { Request, RequestHandler } from "express";

// A page that renews itself: a script of ours asks for it again, and puts the new content in the place of the old. Focus,
// selection and position stay, which a reload would lose. Without the script the browser reloads it each minute.

/** The header by which the script says that nobody used the page: a session is not prolonged by it. */
const HEADER = "x-renewal";

export const isRenewal = (request: Request): boolean => request.headers[HEADER] !== undefined;

/** What the page's policy allows besides, so that the script may run and ask. */
export const POLICY = "script-src 'self';connect-src 'self'";

/** How often a browser that runs no script loads the page again. */
export const RELOAD_SECONDS = 60;

const SCRIPT = `
const main = document.querySelector("main[data-renew]");
const everyMs = Number(main.dataset.renew) * 1000;
let readAt = performance.now();
let isAsking = false;

const fields = () => [...main.querySelectorAll("input:not([type=hidden]), textarea, select")];
const isFilled = (field) =>
  field === document.activeElement || (field.type === "checkbox" || field.type === "radio"
    ? field.checked !== field.defaultChecked
    : field.options ? [...field.options].some((each) => each.selected !== each.defaultSelected) : field.value !== field.defaultValue);
const isInUse = () => {
  const selection = getSelection();
  return document.hidden || (!selection.isCollapsed && main.contains(selection.anchorNode)) || fields().some(isFilled);
};
const nameOf = (element) => element.id || element.getAttribute("href");

function showAge() {
  const seconds = Math.round((performance.now() - readAt) / 1000);
  const age = main.querySelector("[data-age]");
  if (!age) return;
  age.textContent = seconds < 2 ? "now" : seconds < 120 ? seconds + " s ago" : Math.round(seconds / 60) + " min ago";
  age.classList.toggle("old", seconds * 1000 > 4 * everyMs);
}

function take(page) {
  const active = main.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  const open = new Set([...main.querySelectorAll("details[open] > summary")].map((each) => each.textContent));
  main.replaceChildren(...page.querySelector("main").childNodes);
  for (const summary of main.querySelectorAll("details > summary"))
    if (open.has(summary.textContent)) summary.parentElement.open = true;
  if (active) [...main.querySelectorAll("a, button, summary, [id]")].find((each) => nameOf(each) === active)?.focus({ preventScroll: true });
}

async function renew() {
  if (isAsking || isInUse()) return;
  isAsking = true;
  try {
    const answer = await fetch(location.href, { headers: { "${HEADER}": "1" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const isOther = (selector, attribute) =>
      page.querySelector(selector)?.getAttribute(attribute) !== document.querySelector(selector).getAttribute(attribute);
    // Signed out, an outage, or another release: the browser shows that page whole.
    if (!answer.ok || isOther("main", "data-renew") || isOther("link[rel=stylesheet]", "href")) return location.reload();
    if (isInUse()) return;
    take(page);
    readAt = performance.now();
    showAge();
  } catch {
    // No answer: the page says how old it is, and asks again.
  } finally {
    isAsking = false;
  }
}

setInterval(showAge, 1000);
setInterval(renew, everyMs);
document.addEventListener("visibilitychange", () => { if (performance.now() - readAt > everyMs) renew(); });
showAge();
`;

const bytes = Buffer.from(SCRIPT);
const version = createHash("sha256").update(SCRIPT).digest("hex").slice(0, 12);
const path = "/assets/renew.js";

const send: RequestHandler = ({ query }, response) => {
  const kept = query["v"] === version ? "max-age=31536000, immutable" : "no-cache";
  response
    .set({ "Content-Type": "text/javascript; charset=utf-8", "Cache-Control": `public, ${kept}` })
    .send(bytes);
};

/** Served as the stylesheet is (style.ts). */
export const script = { path, name: `${path}?v=${version}`, send };
