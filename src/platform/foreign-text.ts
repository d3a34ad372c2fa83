import { redact } from "../redact.ts";

/** The longest text of another server that enters an error of ours. */
const MOST_CHARACTERS = 200;

/**
 * Text that another server wrote, made fit for a message and a log line: what we sent as a secret is masked (a server
 * may echo it), control characters are gone, the rest is cut at 200 characters.
 */
export function foreignText(text: string, sentSecrets: readonly string[]): string {
  const oneLine = redact(text, sentSecrets)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
  return oneLine.length > MOST_CHARACTERS ? `${oneLine.slice(0, MOST_CHARACTERS)}…` : oneLine;
}

/** A machine word that another server wrote, or undefined if it is none, or holds one of our secrets. */
export function foreignWord(word: unknown, sentSecrets: readonly string[]): string | undefined {
  const isWord =
    typeof word === "string" && /^[\w.-]{1,64}$/.test(word) && foreignText(word, sentSecrets) === word;
  return isWord ? word : undefined;
}
