import { aLifecycle } from "../../support/lifecycle.ts";
import { hiddenIn, type Fields } from "../../people/browser.ts";
import { eventually, type Wishes } from "../../support/world.ts";

export { hiddenIn, type Fields };

export const PASSWORD = "a-password-of-the-operator";
const AUTHORIZATION = `Basic ${Buffer.from(`operator:${PASSWORD}`).toString("base64")}`;

export interface Seen {
  status: number;
  headers: Headers;
  location: string | null;
  html: string;
  /** The text that a person reads on the page. */
  text: string;
}

/** A world with an operator, and the operator's actions with a browser that runs no script. */
export async function aWorldOfAnOperator(wishes: Wishes = {}) {
  const life = await aLifecycle({
    ...wishes,
    environment: { OPERATOR_PASSWORD: PASSWORD, ...wishes.environment },
  });
  const url = () => life.world.service.url!;
  /** The HTML of every page that was shown. */
  const shown: string[] = [];

  async function send(path: string, init: RequestInit = {}): Promise<Seen> {
    const headers = { authorization: AUTHORIZATION, ...(init.headers as Record<string, string>) };
    const response = await fetch(new URL(path, url()), { redirect: "manual", ...init, headers });
    const html = await response.text();
    shown.push(html);
    const { status } = response;
    return {
      status,
      headers: response.headers,
      location: response.headers.get("location"),
      html,
      text: readable(html),
    };
  }

  const get = (path = "", headers: Record<string, string> = {}) => send(`/operator${path}`, { headers });
  const post = (path: string, fields: Fields, headers: Record<string, string> = FROM_OUR_PAGE) =>
    send(`/operator${path}`, { method: "POST", body: new URLSearchParams(fields), headers });

  /** Opens the page with the question and presses its button. Hidden fields are sent too; other fields are given. */
  async function press(path: string, fields: Fields = []): Promise<Seen> {
    const { html } = await get(path);
    return post(path, [...hiddenIn(html), ...fields]);
  }

  return {
    ...{ life, world: life.world, control: life.control, url, shown, get, post, press },
    /** Presses the button and waits until the action it began has ended. */
    async done(path: string, fields: Fields = []): Promise<Seen> {
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
        `SELECT action, state, uuid, message FROM operator_actions ORDER BY id`,
      ),
    close: () => life.world.close(),
  };
}

export type OperatorWorld = Awaited<ReturnType<typeof aWorldOfAnOperator>>;
/** The header that a browser sends with a form on a page of the service. */
export const FROM_OUR_PAGE = { "sec-fetch-site": "same-origin" };

function readable(html: string): string {
  return html
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&quot;", `"`)
    .replaceAll("&lt;", "<")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ");
}
