/** "a", "a and b", "a, b and c". */
export function list(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** A number of seconds in words, in the largest unit that fits. */
export function inPlain(seconds: number): string {
  const units: [size: number, one: string][] = [
    [3600, "hour"],
    [60, "minute"],
    [1, "second"],
  ];
  const [size, one] = units.find(([unit]) => seconds >= unit) ?? units[2]!;
  const count = Math.round(seconds / size);
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** A duration as text. */
export function took(ms: number): string {
  return ms < 999.5 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** The string at a path of members, or "?". */
export function textIn(value: unknown, ...path: string[]): string {
  let found = value;
  for (const member of path) found = (found as Record<string, unknown> | null | undefined)?.[member];
  return typeof found === "string" ? found : "?";
}

/** An answer of the service's, as the sandbox reports it: its status and sentence, or that there was none. */
export function answerInWords({ status, body }: { status: number | null; body?: unknown }): string {
  if (status === null) return "nothing: the service did not answer in time, or ended.";
  const { message } = (body ?? {}) as { message?: unknown };
  return `${status}${typeof message === "string" ? `: ${message}` : "."}`;
}
