import { readFile } from "node:fs/promises";
import { Marked } from "marked";

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");

/** Beside a build, which has a copy, or in the project. */
const PLACES = ["../operate.md", "../../docs/operate.md"].map((place) => new URL(place, import.meta.url));

/** docs/operate.md as HTML, without its title. Pages beside it are named, not linked: only this one is served. */
export async function readRunbook(): Promise<string> {
  const text = await readFile(PLACES[0]!, "utf8").catch(() => readFile(PLACES[1]!, "utf8"));
  return toHtml(text.replace(/^# .*\n/, ""));
}

function toHtml(markdown: string): string {
  const html = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        if (href.startsWith("#")) return `<a href="${href}">${words}</a>`;
        return `${words} (<code>docs/${href.split("#")[0]!}</code>)`;
      },
      image: () => "",
      // Comments alone: the marks of what is generated.
      html: () => "",
    },
  }).parse(markdown, { async: false });
  // A command that is longer than a phone is wide scrolls, also for those who have a keyboard alone.
  return html.replaceAll("<pre>", '<pre tabindex="0">');
}
