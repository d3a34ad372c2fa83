/** A section of the platform's own document. */
export const platform = (section: string) => `platform document, "${section}"`;

/** Chapters of docs/assumed.md, with their titles. */
const ASSUMED = {
  1: "Calls of the platform to us",
  2: "Provisions that are finished later",
  3: "Tokens",
  4: "Habits of the platform's API",
  6: "A customer's sign-on",
} as const;

/** A section of docs/assumed.md, which says what is assumed where the platform document is silent. */
export const assumed = (section: keyof typeof ASSUMED) =>
  `docs/assumed.md, section ${section} (${ASSUMED[section]})`;
