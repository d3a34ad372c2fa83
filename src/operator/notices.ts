import { databaseClock } from "../database/clock.ts";
import type { Database } from "../database/database.ts";
import { visible } from "../marks.ts";
import { type CurrentNotice, currentNotice, SEVERITIES, type Severity } from "../people/notice.ts";
import { UsedWrongly } from "./errors.ts";
import { momentAway } from "./wording.ts";

/** As the database's constraint has it. */
export const LONGEST_NOTICE = 500;

type WantedNotice = Pick<CurrentNotice, "text" | "severity" | "until">;

/** What an operator wants to be shown to all customers. Throws {@link UsedWrongly} for what they could not read, or not rightly. */
export function readNotice(given: {
  text: string;
  severity?: string;
  until?: string | undefined;
}): WantedNotice {
  const text = given.text.replace(/\s+/g, " ").trim();
  if (text === "") throw new UsedWrongly("The notice has no text.");
  if (text.length > LONGEST_NOTICE)
    throw new UsedWrongly(
      `The notice has ${text.length} characters; at most ${LONGEST_NOTICE} are shown, so that it is read.`,
    );
  if (visible(text) !== text)
    throw new UsedWrongly(`The notice holds marks that turn or hide text: ${visible(text)}. Leave them out.`);
  const severity = SEVERITIES.find((each) => each === (given.severity ?? "info"));
  if (!severity)
    throw new UsedWrongly(`"${given.severity}" is not a severity. Use one of ${SEVERITIES.join(", ")}.`);
  return { text, severity, until: given.until === undefined ? null : timeIn(given.until.trim()) };
}

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?$/i;

/** The time of day without its zone would be another one for whoever is elsewhere. */
function timeIn(typed: string): Date {
  const [, date, time, zone] = TIME.exec(typed) ?? [];
  const example = `write it as ${new Date(Date.now() + 3_600_000).toISOString().slice(0, 14)}00Z, or with +01:00 for Z`;
  if (!date) throw new UsedWrongly(`"${visible(typed).slice(0, 100)}" is not a time: ${example}.`);
  if (!zone) throw new UsedWrongly(`"${typed}" has no time zone: ${example}.`);
  const at = new Date(`${date}T${time}${zone.toUpperCase().replace(/(\d\d)(\d\d)$/, "$1:$2")}`);
  // JavaScript reads 30 February as 2 March.
  const isDate = new Date(`${date}T00:00Z`).getUTCDate() === Number(date.slice(8));
  if (Number.isNaN(at.getTime()) || !isDate)
    throw new UsedWrongly(`"${typed}" is not in the calendar: ${example}.`);
  return at;
}

/** Shows it to all customers from now on, in the place of the one before. Throws {@link UsedWrongly} for one that would have ended. */
export async function setNotice(
  db: Database,
  notice: WantedNotice,
  operator: string,
): Promise<CurrentNotice> {
  const now = new Date(await databaseClock(db));
  if (notice.until !== null && notice.until <= now)
    throw new UsedWrongly(`The notice would end at ${inWords(notice.until, now)}, which is in the past.`);
  const { notice: notices } = await db.prisma();
  const row = { ...notice, setBy: operator, setAt: now };
  const { id: _, ...stored } = await notices.upsert({
    where: { id: 1 },
    create: { id: 1, ...row },
    update: row,
  });
  return { ...stored, severity: stored.severity as Severity };
}

/** Returns `false` if customers saw none. */
export async function clearNotice(db: Database): Promise<boolean> {
  const shown = await currentNotice(db);
  const { notice } = await db.prisma();
  await notice.deleteMany();
  return shown !== null;
}

/** What customers see, for operators. */
export function noticeInWords({ text, severity, until, setBy, setAt }: CurrentNotice): string {
  const end = until === null ? "until it is cleared" : `until ${inWords(until)}`;
  return `Shown to all customers as ${severity}, ${end}: ${text}\nSet by ${setBy} at ${inWords(setAt)}.`;
}

const inWords = (at: Date, now = new Date()) =>
  momentAway(at.toISOString(), now.getTime()).replace(" (", " UTC (");
