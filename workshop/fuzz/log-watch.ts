/** Captures a service's log, so that it can be checked. */
export function createLogWatch() {
  let lines: string[] = [];

  return {
    write: (line: string) => void lines.push(line),

    /** Returns the faults in the lines since the last call: a secret, a forged line, an error. */
    faults(secrets: readonly string[]): string[] {
      const text = lines.join("");
      const known = lines.filter((line) => !isOneEvent(line));
      // A request without a grant raises an alarm, which is no fault of the service.
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
