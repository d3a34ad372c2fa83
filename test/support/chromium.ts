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

/**
 * A person with a browser context of their own. `problems` collects errors in its pages: failed scripts, and what the
 * policy blocked.
 */
export async function aVisitor({ browser, ...options }: BrowserContextOptions & { browser: Browser }) {
  const context = await browser.newContext(options);
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
  nodes: { html: string; failureSummary?: string }[];
}

/** What an accessibility check finds on a page. The page's context must allow its script (`bypassCSP`). */
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run(document)")) as { violations: Finding[] };
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
  );
}

/** The two looks in which pages are tried. */
export const LOOKS = [
  ["on a desk", { viewport: { width: 1280, height: 800 } }],
  ["on a phone, in the dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
] as const;

/** How many pixels of the page are clipped on the right. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

/** What is wrong with how a page looks, by name. */
export async function lookOf(page: Page, name: string): Promise<object> {
  await page.waitForLoadState("load");
  return { name, findings: await findings(page), overflow: await overflow(page) };
}
