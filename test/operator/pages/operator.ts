import { aBrowser, type Browser, type Fields, hiddenIn, type Shown } from "../../people/browser.ts";
import { aWorldOfPeople, type Choice } from "../../people/people.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { basic } from "../../support/partner-calls.ts";
import { eventually, type Wishes } from "../../support/world.ts";

export { hiddenIn, type Fields };

export const PASSWORD = "a-password-of-the-operator";
/** The header that a browser sends with a form on a page of the service. */
export const FROM_OUR_PAGE = { "sec-fetch-site": "same-origin" };

/** A world with an operator, and the operator's actions with a browser that runs no script. */
export async function aWorldOfAnOperator(wishes: Wishes = {}) {
  const life = await aLifecycle({
    ...wishes,
    environment: { OPERATOR_PASSWORD: PASSWORD, ...wishes.environment },
  });
  const url = () => life.world.service.url!;
  const browser = aBrowser(url, { authorization: basic("operator", PASSWORD) });
  /** The HTML of every page that was shown. */
  const shown: string[] = [];

  /** With the text that a person reads on the page. */
  async function seen(answer: Promise<Shown>) {
    const { text: html, ...others } = await answer;
    shown.push(html);
    return { ...others, html, text: readable(html) };
  }
  const get = (path = "", headers: Record<string, string> = {}) =>
    seen(browser.get(`/operator${path}`, headers));
  const post = (path: string, fields: Fields, headers: Record<string, string> = FROM_OUR_PAGE) =>
    seen(browser.post(`/operator${path}`, headers, new URLSearchParams(fields)));

  /** Opens the page with the question and presses its button. Hidden fields are sent too; other fields are given. */
  async function press(path: string, fields: Fields = []) {
    const { html } = await get(path);
    return post(path, [...hiddenIn(html), ...fields]);
  }

  return {
    ...{ life, world: life.world, control: life.control, url, shown, get, post, press },
    /** Presses the button and waits until the action it began has ended. */
    async done(path: string, fields: Fields = []) {
      const { status, location } = await press(path, fields);
      if (status !== 303) throw new Error(`${path} was answered ${status}.`);
      const address = location!.replace("/operator", "");
      return eventually(async () => {
        const page = await get(address);
        return page.text.includes("running") ? null : page;
      });
    },
    audit: () =>
      life.world.rows<{ action: string; state: string; uuid: string | null; message: string }>(
        `SELECT action, state, uuid, message FROM operator_actions WHERE form NOT LIKE 'entry-%' ORDER BY id`,
      ),
    close: () => life.world.close(),
  };
}

export type OperatorWorld = Awaited<ReturnType<typeof aWorldOfAnOperator>>;

function readable(html: string): string {
  return html
    .replace(/<\/?bdi>/g, "")
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&quot;", `"`)
    .replaceAll("&lt;", "<")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ");
}

/** The Accept header of a browser that requests a page. */
const FOR_A_PAGE = { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" };

/** A world whose operators sign in at the platform, and also have a password; and their actions with a browser. */
export async function aWorldOfOperators(accounts: string, wishes: Wishes = {}) {
  const people = await aWorldOfPeople({
    ...wishes,
    environment: { OPERATOR_PASSWORD: PASSWORD, SWEEP_CRON: "* * * * * *", ...wishes.environment },
  });
  const { world, control, url } = people;
  const browserWith = (headers: Record<string, string> = {}) => aBrowser(url, { ...FOR_A_PAGE, ...headers });
  /** Changes the list of operators; the service is restarted with it, and sessions stay. */
  const list = async (names: string, others = {}) => {
    Object.assign(world.environment, { OPERATOR_ACCOUNTS: names });
    await world.restart({ environment: others });
  };
  await list(accounts);
  /** Follows the sign-in link of the page, and comes back from the platform. */
  const signIn = async (browser: Browser, choice: Choice = {}): Promise<Shown> => {
    const { text } = await browser.get("/operator");
    return browser.get(people.atPlatform(await browser.get(linkTo("Sign in", text)), choice));
  };

  return {
    ...{ people, world, control, url, list, signIn, browser: browserWith },
    /** A browser in which somebody has signed in. */
    async signedIn(user = "owner@example.com"): Promise<Browser> {
      const browser = browserWith();
      await signIn(browser, { user });
      return browser;
    },
    /** Opens the page with the question and presses its button. */
    async press(browser: Browser, path: string): Promise<Shown> {
      const { text } = await browser.get(path);
      return browser.post(path, FROM_OUR_PAGE, new URLSearchParams(hiddenIn(text)));
    },
    /** The actions in the audit trail. */
    audit: () =>
      world.rows<{ action: string; operator: string; account: string | null }>(
        `SELECT action, operator, account FROM operator_actions WHERE form NOT LIKE 'entry-%' ORDER BY id`,
      ),
    idOf: async (email: string) =>
      (await people.people()).find((person) => person.email === email)?.uuid ?? null,
    close: () => people.close(),
  };
}

export type OperatorsWorld = Awaited<ReturnType<typeof aWorldOfOperators>>;

/** The target of a link on a page. */
export function linkTo(label: string, html: string): string {
  const found = [...html.matchAll(/<a href="([^"]+)"[^>]*>([^<]+)</g)].find(([, , text]) => text === label);
  if (!found) throw new Error(`There is no link "${label}".`);
  return found[1]!.replaceAll("&amp;", "&");
}
