/** What an assistant is shown at once, in characters of JSON. */
const MOST_CHARACTERS = 40_000;

/**
 * An answer as text. If it is too long for an assistant, its long texts and lists are shortened, each with a word about
 * what is left out, until it fits.
 */
export function readable(answer: unknown): string {
  let text = JSON.stringify(answer);
  for (let most = 4096; text.length > MOST_CHARACTERS && most >= 1; most = Math.floor(most / 2))
    text = JSON.stringify(shortened(answer, most));
  return text;
}

/** Whether an answer is too long to be shown whole. */
export function isTooLong(answer: unknown): boolean {
  return JSON.stringify(answer).length > MOST_CHARACTERS;
}

/** No text has more characters than `most`, no list or object more members. */
function shortened(value: unknown, most: number): unknown {
  if (typeof value === "string")
    return value.length > most + 40
      ? `${value.slice(0, most)}… (${value.length - most} characters more)`
      : value;
  if (Array.isArray(value)) {
    const shown: unknown[] = value.slice(0, most).map((item) => shortened(item, most));
    return value.length > most ? [...shown, `… (${value.length - most} items more)`] : shown;
  }
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value);
  const shown = members.slice(0, Math.max(most, 20)).map(([name, member]) => [name, shortened(member, most)]);
  const left = members.length - shown.length;
  return Object.fromEntries(left > 0 ? [...shown, ["…", `(${left} members more)`]] : shown);
}
