import { safe, wrapped } from "./text.ts";

/** Receives the log lines of the service's parts while a command runs. */
export interface LogLines {
  write(line: string): void;
  /** Says how many more lines there were of those that were not shown. */
  end(): void;
}

/** Of lines with the same sentence about different resources, this many are shown. */
const MOST_ALIKE = 3;

/** Shows the log of the service's parts as readable sentences; repeated ones are counted. */
export function createLogLines(say: (line: string) => void, columns: number): LogLines {
  const told = new Map<string, number>();
  return {
    write(line) {
      const { sentence } = read(line);
      const count = (told.get(sentence) ?? 0) + 1;
      told.set(sentence, count);
      if (count <= MOST_ALIKE) say(wrapped(readableLogLine(line), columns, "  "));
    },
    end() {
      for (const [sentence, count] of told)
        if (count > MOST_ALIKE)
          say(wrapped(`${sentence} (and ${count - MOST_ALIKE} more times)`, columns, "  "));
    },
  };
}

/** A log line as a sentence, with its resource and its cause. */
export function readableLogLine(line: string): string {
  const { sentence, about } = read(line);
  return about === "" ? sentence : `${sentence} (${about})`;
}

function read(line: string): { sentence: string; about: string } {
  const { level, msg, uuid, error, reason, incident } = JSON.parse(line) as {
    level: string;
    msg?: string;
    uuid?: string;
    error?: { message?: string };
    reason?: string;
    incident?: { title: string };
  };
  const why = error?.message ?? reason;
  const trouble = incident && `the platform reports: ${incident.title}`;
  const about = [uuid, why, trouble].filter(Boolean).join(": ");
  return { sentence: safe(`${level}: ${msg ?? ""}`), about: safe(about) };
}
