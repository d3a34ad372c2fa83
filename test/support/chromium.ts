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
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  return chromium.launch({ executablePath: chromiumPath, args, timeout: 120_000 });
}

/**
 * A person with a browser context of their own. `problems` collects errors in its pages: failed scripts, and what the
 * policy blocked.
 */
export async function aVisitor({ browser, ...options }: BrowserContextOptions & { browser: Browser }) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
  });
  return { context, page, problems };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Seen {
  violations: { id: string; nodes: { html: string }[] }[];
  overflow: number;
}

const PHONE = { width: 360, height: 740 };

/** In which pages are used in tests: what can be pressed here can be pressed on a desk. */
export const ON_A_PHONE = { viewport: PHONE, colorScheme: "dark" } as const;

/** The rules about colours: nothing else differs between light and dark in one size. */
const COLOURS = { runOnly: ["color-contrast", "link-in-text-block"] };

/** Each page is checked in all of these. The last is {@link ON_A_PHONE}, in which it was opened. */
const LOOKS = [
  { where: "on a desk", viewport: { width: 1280, height: 800 }, colorScheme: "light", rules: {} },
  { where: "on a desk, in the dark", viewport: null, colorScheme: "dark", rules: COLOURS },
  { where: "on a phone", viewport: PHONE, colorScheme: "light", rules: COLOURS },
  { where: "on a phone, in the dark", viewport: null, colorScheme: "dark", rules: {} },
] as const;

/**
 * What is wrong with how the page looks, on a desk and on a phone, light and dark: what an accessibility check finds, and
 * how many pixels are clipped on the right. The page's context must allow the script of the check (`bypassCSP`).
 */
export async function faultsOf(page: Page, name: string): Promise<string[]> {
  await page.waitForLoadState("load");
  await page.evaluate(axe);
  const faults: string[] = [];
  for (const { where, viewport, colorScheme, rules } of LOOKS) {
    if (viewport) await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const { violations, overflow } = await page.evaluate<Seen>(look(rules));
    const found = violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
    );
    if (overflow > 0) found.push(`${overflow} pixels are clipped`);
    faults.push(...found.map((what) => `${name}, ${where}: ${what}`));
  }
  return faults;
}

/**
 * Colours that change by and by are given their last value first. axe takes what scrolls in a disabled fieldset for disabled
 * too, which it is not: the operator's view of a customer's page is such a fieldset.
 */
const look = (rules: object) => `(async () => {
  for (const each of document.getAnimations()) each.finish();
  const { violations } = await axe.run({ exclude: "fieldset[disabled] [tabindex='0']" }, ${JSON.stringify({ resultTypes: ["violations"], ...rules })});
  const { scrollWidth, clientWidth } = document.documentElement;
  return { violations, overflow: scrollWidth - clientWidth };
})()`;
