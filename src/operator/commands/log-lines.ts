import { safe } from "./text.ts";

/** A line of the log as a sentence for people, with its resource and its cause. */
export function readableLogLine(line: string): string {
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
  return safe(`${level}: ${msg ?? ""}${about && ` (${about})`}`);
}
