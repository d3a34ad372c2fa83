import { aBrowser, type Browser, type Shown } from "../../people/browser.ts";
import { aWorldOfPeople, type Choice } from "../../people/people.ts";
import type { Wishes } from "../../support/world.ts";
import { FROM_OUR_PAGE, hiddenIn, PASSWORD } from "./operator.ts";

/** The Accept header of a browser that requests a page. */
const FOR_A_PAGE = { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" };

/** A world whose operators sign in at the platform, and also have a password; and their actions with a browser. */
export async function aWorldOfOperators(accounts: string, wishes: Wishes = {}) {
  const people = await aWorldOfPeople({
    ...wishes,
    environment: { OPERATOR_PASSWORD: PASSWORD, SWEEP_CRON: "* * * * * *", ...wishes.environment },
  });
  const { world, control, url } = people;
  const settle = async () => {
    const { addon } = await control.install({ plan: "basic" });
    await world.quiet([addon.id]);
    return addon.id;
  };
  /** Changes the list of operators; the service is restarted with it, and sessions stay. */
  const list = async (names: string, others = {}) => {
    Object.assign(world.environment, { OPERATOR_ACCOUNTS: names });
    await world.restart({ environment: others });
  };
  await list(accounts);

  return {
    ...{ people, world, control, url, settle, list },
    browser: (headers: Record<string, string> = {}): Browser => aBrowser(url, { ...FOR_A_PAGE, ...headers }),
    /** Follows the sign-in link of the page, and comes back from the platform. */
    async signIn(browser: Browser, choice: Choice & { at?: string } = {}): Promise<Shown> {
      const { text } = await browser.get(choice.at ?? "/operator");
      return browser.get(people.atPlatform(await browser.get(linkTo("Sign in", text)), choice));
    },
    /** Opens the page with the question and presses its button. */
    async press(browser: Browser, path: string): Promise<Shown> {
      const { text } = await browser.get(path);
      return browser.post(path, FROM_OUR_PAGE, new URLSearchParams(hiddenIn(text)));
    },
    /** The actions in the audit trail. */
    audit: () =>
      world.rows<{ action: string; operator: string; account: string | null }>(
        `SELECT action, operator, account FROM operator_actions ORDER BY id`,
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
