import { safe, wrapped } from "./text.ts";

/** Where the log of the service's own parts goes while a command runs. */
export interface LogLines {
  write(line: string): void;
  /** Says how many more there were of those that were not told one by one. */
  end(): void;
}

/** Of lines that say the same of another resource, so many are told. */
const MOST_ALIKE = 3;

/** What the service's parts log, told as a person at a terminal reads it; what is said again and again is counted. */
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

/** A log line as a sentence, and what it is about. */
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
    reason?: { message?: string } | string;
    incident?: { title: string };
  };
  const why = error?.message ?? (typeof reason === "string" ? reason : reason?.message);
  const trouble = incident && `the platform reports: ${incident.title}`;
  const about = [uuid, why, trouble].filter(Boolean).join(": ");
  return { sentence: safe(`${level}: ${msg ?? ""}`), about: safe(about) };
}
