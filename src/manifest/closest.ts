/** Longer than any key or its misspelling. */
const LONGEST = 40;

/** The known word that a mistyped one most likely stands for, if any is near. */
export function closest(word: string, known: readonly string[]): string | undefined {
  if (word.length > LONGEST) return undefined;
  const plain = plainOf(word);
  const [best] = known
    .filter((candidate) => plain.length <= candidate.length * 1.25 + 1)
    .map((candidate) => ({ candidate, distance: distanceOf(plain, plainOf(candidate)) }))
    .filter(
      ({ candidate, distance }) =>
        distance <= Math.ceil(candidate.length / 4) || isShortFor(plain, candidate),
    )
    .sort((one, other) => one.distance - other.distance);
  return best?.candidate;
}

/** Ignores case and separators: successUrl, success-url and SUCCESS_URL are equal. */
function plainOf(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ ]/g, "");
}

function isShortFor(word: string, candidate: string): boolean {
  return word.length >= 3 && plainOf(candidate).startsWith(word);
}

/** The edit distance: the number of letters to insert, delete, change, or swap with their neighbour. */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = one[i - 1] === other[j - 1] ? 0 : 1;
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + change);
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) next[j] = Math.min(next[j]!, before[j - 2]! + 1);
    }
    [before, row] = [row, next];
  }
  return row[other.length]!;
}
