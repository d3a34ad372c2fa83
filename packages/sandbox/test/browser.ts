export interface Page {
  status: number;
  headers: Headers;
  html: string;
  /** The target of its redirect, if any. */
  location: string | null;
}

interface Form {
  action: string;
  hidden: Record<string, string>;
  text: string;
}

/** A browser without scripts: keeps cookies, finds a form by its button, follows no redirects by itself. */
export function aBrowser(base: string) {
  const cookies = new Map<string, string>();
  let page: Page;

  async function visit(address: string, init: RequestInit = {}): Promise<Page> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(address, base), {
      ...init,
      redirect: "manual",
      headers: { ...(init.headers as Record<string, string>), ...(cookie && { cookie }) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const { status, headers } = response;
    page = { status, headers, html: await response.text(), location: headers.get("location") };
    return page;
  }

  /** Presses the button with this name and value, or submits the form that has a field of that name. */
  async function press(name: string, value: string): Promise<Page> {
    const form = formsOf(page.html).find(
      ({ text }) => text.includes(`name="${name}"`) && hasField(text, value),
    );
    if (!form) throw new Error(`There is no form with ${name}=${value}.`);
    const body = new URLSearchParams({ ...form.hidden, [name]: value });
    return visit(form.action, { method: "POST", body });
  }

  async function follow(): Promise<Page> {
    return visit(page.location ?? "");
  }

  return { visit, press, follow, cookies, form: () => formsOf(page.html)[0]! };
}

/** Whether a form has a button with the value, or an input to type it into. */
function hasField(text: string, value: string): boolean {
  return text.includes(`value="${value}"`) || (/<input type="email"/.test(text) && value.includes("@"));
}

function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].map(
    ([, action = "", text = ""]) => ({
      action: action.replaceAll("&amp;", "&"),
      hidden: Object.fromEntries(
        [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
          name,
          value,
        ]),
      ) as Record<string, string>,
      text,
    }),
  );
}
