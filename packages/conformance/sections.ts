/** A section of the platform's own document, with the words there that demand it. */
export const platform = (section: string, words: string) => `platform document, "${section}": "${words}"`;

/** A section of a standard that the document builds on. */
export const rfc = (number: number, section: string) => `RFC ${number}, section ${section}`;

/** Chapters of docs/assumed.md, with their titles. */
const ASSUMED = {
  1: "Calls of the platform to us",
  2: "Provisions that are finished later",
  3: "Tokens",
  4: "Habits of the platform's API",
  6: "A customer's sign-on",
} as const;

/**
 * A section of docs/assumed.md: the platform's document does not demand it in so many words, so it is ruled here, and is to
 * be compared with what the platform says elsewhere.
 */
export const assumed = (section: keyof typeof ASSUMED) =>
  `ruled, as the platform's document does not say: docs/assumed.md, section ${section} (${ASSUMED[section]})`;

/** Who demands a rule: the platform's document, a standard, or the kit where both leave it open. */
export type Source = "document" | "standard" | "ruled";

/** Read from the beginning of a rule's `section`, of which the first part counts. */
export function sourceOf(section: string): Source {
  if (section.startsWith("platform document, ")) return "document";
  return section.startsWith("RFC ") ? "standard" : "ruled";
}
