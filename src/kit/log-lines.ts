import { safe } from "./text.ts";

/** A log line of the service's own parts, as a person at a terminal reads it: the sentence, and what it is about. */
export function readableLogLine(line: string): string {
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
  return safe(`${level}: ${msg ?? ""}${about && ` (${about})`}`);
}
