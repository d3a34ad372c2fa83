/**
 * Characters that show nothing and act on what is around them: control characters, ends of lines, marks that turn the
 * direction of text, spaces without width, tags. Joiners and variation selectors belong to emoji and to many scripts, so
 * they act only elsewhere.
 */
const ACTING =
  /[\p{Cc}\p{Zl}\p{Zp}\ufff9-\ufffb]|(?![\u200c\u200d\p{VS}])\p{DI}|(?<![^\0-\x7f])[\u200c\u200d\p{VS}]|[\u200c\u200d](?![^\0-\x7f])/gu;

/** As JSON escapes them: a document in which they are written so is the same document. */
const escaped = (mark: string) =>
  Array.from(
    { length: mark.length },
    (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");

/** A text to be shown, with its acting characters written as \u202e. What is stored stays as it came. */
export function visible(text: string): string {
  return text.replace(ACTING, escaped);
}

/** A tag of HTML, or a line feed or tab between them: these stay. */
const TAG_OR_SPACE = /<[^>"]*(?:"[^"]*"[^>"]*)*>|[\n\t]+/;
const IN_HTML = new RegExp(`(${TAG_OR_SPACE.source})|${ACTING.source}`, "gu");

/** The same for the texts of a page; what stands in attributes, such as the value of a field, stays as it is. */
export function visibleInHtml(html: string): string {
  return html.replace(IN_HTML, (found, stays?: string) => stays ?? escaped(found));
}
