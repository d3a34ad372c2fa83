import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const places = [
  process.env["CHROMIUM_PATH"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The path of the browser on this machine; undefined if there is none. */
export const chromiumPath = places.find((path) => path !== undefined && existsSync(path));

/** Starts the browser of this machine, headless. */
export function startChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error("There is no Chromium here; CHROMIUM_PATH names one.");
  return chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export interface Visitor extends BrowserContextOptions {
  browser: Browser;
  /** How many times faster the timers of its pages run, so that a page that updates itself is not waited for. */
  haste?: number;
}

/**
 * A person with a browser context of their own. `problems` collects errors in its pages: failed scripts, and what the
 * policy blocked.
 */
export async function aVisitor({ browser, haste = 1, ...options }: Visitor) {
  const context = await browser.newContext(options);
  await context.addInitScript(
    `{ const wait = setTimeout; window.setTimeout = (work, ms) => wait(work, ms / ${haste}); }`,
  );
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
  });
  return { context, page, problems };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  id: string;
  impact?: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

/**
 * The serious and critical findings of an accessibility check. The page's context must allow its script (`bypassCSP`).
 */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run(document)")) as { violations: Finding[] };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}
