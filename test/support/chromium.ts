import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const places = [
  process.env["CHROMIUM_PATH"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The browser of this machine; undefined where there is none. */
export const chromiumPath = places.find((path) => path !== undefined && existsSync(path));

/** Starts the browser of this machine, without a window. */
export function startChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error("There is no Chromium here; CHROMIUM_PATH names one.");
  return chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export interface Visitor extends BrowserContextOptions {
  browser: Browser;
}

/** A person with a browser of their own. What goes wrong in its pages is collected: scripts, refused by the policy or broken. */
export async function aVisitor({ browser, ...options }: Visitor) {
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
  impact?: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

/** What an accessibility check finds that is serious or critical. The page's context must let its script in (`bypassCSP`). */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run(document)")) as { violations: Finding[] };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}
