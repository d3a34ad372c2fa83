/* global document, EventSource, DOMParser, fetch, location, history, URL */

/**
 * Shows what happens as it happens, which needs a script: at each event from the sandbox the page fetches itself again,
 * and replaces the parts that are marked as live.
 */
const announcement = document.querySelector("[data-announce]");
let source = null;
let isBusy = false;
let isStale = false;

forgetNotice();
// A customer who opens the add-on goes there at once; without a script there is a button.
document.querySelector("form[data-at-once]")?.submit();
document.addEventListener("visibilitychange", listen);
listen();

/** A hidden page keeps no connection, because a browser allows only a few per host. */
function listen() {
  if (document.hidden) {
    source?.close();
    source = null;
    return;
  }
  if (source) return;
  source = new EventSource("/marketplace/live");
  source.onopen = () => {
    announcement.textContent = announcement.dataset.connected;
    document.body.dataset.live = "on";
    void renew();
  };
  source.onerror = () => {
    announcement.textContent = "The sandbox does not answer. This page updates again when it does.";
    document.body.dataset.live = "off";
  };
  source.onmessage = () => void renew();
}

/** One fetch at a time, and one more if something happened meanwhile. */
async function renew() {
  if (isBusy) {
    isStale = true;
    return;
  }
  isBusy = true;
  try {
    const parts = document.querySelectorAll("main [data-live]");
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    // The subject of the page no longer exists: go to the error page, which has no live parts.
    if (!response.ok && parts.length > 0) return location.replace(response.url);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const old of parts) takeOver(old, fresh.getElementById(old.id));
  } catch {
    // The lost event source reports this failure too.
  }
  isBusy = false;
  if (isStale) {
    isStale = false;
    await renew();
  }
}

function takeOver(old, fresh) {
  if (!fresh || old.innerHTML === fresh.innerHTML) return;
  const known = new Set([...old.querySelectorAll("li[id]")].map(({ id }) => id));
  for (const item of fresh.querySelectorAll("li[id]")) {
    if (!known.has(item.id) && known.size > 0) item.classList.add("new");
  }
  const open = new Set([...old.querySelectorAll("details[open]")].map(({ dataset }) => dataset.key));
  for (const details of fresh.querySelectorAll("details")) details.open = open.has(details.dataset.key);
  const focused = old.contains(document.activeElement) ? placeOf(old, document.activeElement) : null;
  old.replaceChildren(...fresh.childNodes);
  if (focused) old.querySelectorAll(focused.kind)[focused.index]?.focus({ preventScroll: true });
}

/** A selector and an index by which an element is found again after the replacement. */
function placeOf(region, element) {
  const owner = element.closest("details[data-key]");
  if (owner && element.localName === "summary")
    return { kind: `details[data-key="${owner.dataset.key}"] > summary`, index: 0 };
  const kind = element.localName;
  return { kind, index: [...region.querySelectorAll(kind)].indexOf(element) };
}

/** Removes the notice from the URL, so that a reload does not ask for it again. */
function forgetNotice() {
  const here = new URL(location.href);
  if (!here.searchParams.has("told")) return;
  here.searchParams.delete("told");
  history.replaceState(history.state, "", here);
}
