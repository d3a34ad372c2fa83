/** A section of the platform's own document. */
export const platform = (section: string) => `platform document, "${section}"`;

const DECISIONS = {
  1: "calls we receive",
  2: "asynchronous provisioning",
  3: "tokens",
  4: "platform API conventions",
  6: "sign-on of a customer",
} as const;

/** A section of the decisions, which speak where the document is silent; they are listed in docs/assumed.md. */
export const decisions = (section: keyof typeof DECISIONS) => `decisions, ${section}: ${DECISIONS[section]}`;
