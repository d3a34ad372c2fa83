import { type DoctorReport, findingsOf } from "../../src/operator/doctor/doctor.ts";
import { moment } from "../../src/operator/wording.ts";

/** "for 4 min", "since 2026-01-31", "60 min ago"; in brackets it is about something else, such as one of several sweeps. */
const HOW_LONG = /\b(?:for|since|by) \d|[^(\d]\d+ (?:s|min|h|days) ago/;

/** The sentences that say since when, although the finding's `since` does. */
export const saidTwice = (report: Pick<DoctorReport, "checks">): string[] =>
  findingsOf(report).flatMap(({ message, since }) =>
    since !== undefined && (HOW_LONG.test(message) || message.includes(moment(since))) ? [message] : [],
  );
