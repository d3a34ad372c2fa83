import { createWriteStream } from "node:fs";

interface Line {
  level: string;
  time: string;
  msg: string;
  /** The thrown value, which need not be an error. */
  error?: { message?: string; at?: string } | string;
  reason?: unknown;
}

/** The output of the service's log: every line goes into a file; warnings and errors are also printed as sentences. */
export function openServiceLog(file: string, warn: (at: string, isError: boolean, text: string) => void) {
  const stream = createWriteStream(file, { flags: "a", mode: 0o600 });
  return {
    write(text: string): void {
      stream.write(text);
      if (!/^\{"level":"(warn|error|fatal)"/.test(text)) return;
      const line = JSON.parse(text) as Line;
      warn(line.time, line.level !== "warn", sentence(line));
    },
    close: () => new Promise<void>((resolve) => stream.end(resolve)),
  };
}

function sentence({ msg, error, reason }: Line): string {
  const cause = textOf(error) ?? textOf(reason as Line["error"]);
  return cause ? `${msg}: ${cause}` : msg;
}

function textOf(thrown: Line["error"]): string | undefined {
  if (typeof thrown !== "object") return thrown;
  return thrown?.at ? `${thrown.message} (${thrown.at})` : thrown?.message;
}
