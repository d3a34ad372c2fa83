/** Where a service's log goes, so that what stands in it can be looked at. */
export function createLogWatch() {
  let lines: string[] = [];

  return {
    write: (line: string) => void lines.push(line),

    /** What is wrong with the lines since the last time: a secret, a forged line, an error of ours. */
    faults(secrets: readonly string[]): string[] {
      const text = lines.join("");
      const known = lines.filter((line) => !isOneEvent(line));
      // That a request has no grant is an alarm, and no fault of ours.
      const errors = lines.filter((line) => /"level":"(error|fatal)",(?!.*"alarm":"no_grant")/.test(line));
      lines = [];
      return [
        ...secrets.filter((secret) => text.includes(secret)).map((secret) => `the log shows ${secret.slice(0, 8)}…`),
        ...known.map((line) => `not one event a line: ${line.slice(0, 200)}`),
        ...errors.map((line) => `an error in the log: ${line.slice(0, 400)}`),
      ];
    },
  };
} // prettier-ignore

export type LogWatch = ReturnType<typeof createLogWatch>;

function isOneEvent(line: string): boolean {
  try {
    return /^[^\n]+\n$/.test(line) && typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}
