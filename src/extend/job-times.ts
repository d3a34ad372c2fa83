import { createTask, parse } from "node-cron";

// When a job is due: a cron expression, in the time of a zone. node-cron says which days an expression names. The times of a
// day are computed here, because node-cron leaves out a time that a day skips, counts from the clock of the process, which
// may be behind the database's, and cannot look back.

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The days of an expression repeat after 40 years: 29 February is a Monday again by then, also beyond the year 2100. */
const MOST_DAYS = 41 * 366;

export interface JobTimes {
  /** A cron expression: `0 3 * * *` is each day at three. */
  at: string;
  /** The zone of these times, such as `Europe/Berlin`; UTC unless given. */
  timeZone?: string | undefined;
}

/** The first time after `now`. Throws if `at` is not a cron expression or has no next time. */
export function nextTime(times: JobTimes, now: Date): Date {
  for (const time of timesOf(times, now, 1)) return time;
  throw new Error(`The cron expression ${times.at} has no next time.`);
}

/** The last time until `now`. */
export function lastTime(times: JobTimes, now: Date): Date | null {
  for (const time of timesOf(times, now, -1)) return time;
  return null;
}

/**
 * The times after `from`; with the direction -1, those until `from`, the latest first. A time that a day skips, because the
 * clocks are put forward, is as much later as they are put forward. Of a time that comes twice, because they are put back, the
 * first one counts; a job of every hour runs at both.
 */
export function* timesOf({ at, timeZone = "UTC" }: JobTimes, from: Date, direction: 1 | -1): Generator<Date> {
  const { hour: hours, minute, second, month } = parse(at);
  const inHour = minute.flatMap((each) => second.map((of) => (each * 60 + of) * 1_000));
  const inOrder = (numbers: readonly number[]) => [...new Set(numbers)].sort((a, b) => direction * (a - b));
  const ahead = aheadOfUtc(timeZone);
  // What the clocks of the zone show is computed as if it were UTC.
  const shown = from.getTime() + ahead(from.getTime());
  // A skipped time may be one of the next day, so the walk begins a day earlier.
  const begin = shown - (shown % DAY_MS) - direction * DAY_MS;
  const task = createTask(at, () => undefined, { timezone: "UTC" });
  const someTime = hours[0]! * HOUR_MS + inHour[0]!;
  // The last time that was returned: a skipped one may be the same as a later one.
  let edge = direction === 1 ? from.getTime() : from.getTime() + 1;
  try {
    for (let days = 0; days < MOST_DAYS; days += 1) {
      const day = begin + direction * days * DAY_MS;
      if (!month.includes(new Date(day).getUTCMonth() + 1) || !task.match(new Date(day + someTime))) continue;
      const change = changeAround(day, ahead);
      for (const hour of inOrder(hours)) {
        const from = day + hour * HOUR_MS;
        if (isBefore(edge, from, change, direction)) continue;
        for (const ms of inOrder(instantsOf(from, inHour, change, hours.length === 24)))
          if (direction * (ms - edge) > 0) yield new Date((edge = ms));
      }
    }
  } finally {
    void task.destroy();
  }
}

/** Around a day, the zone's clocks are ahead of UTC by `before` until the instant `at`, and by `after` from then on. */
interface Change {
  before: number;
  after: number;
  at: number;
}

function changeAround(day: number, ahead: Ahead): Change {
  const [from, to] = [day - DAY_MS, day + 2 * DAY_MS];
  const [before, after] = [ahead(from), ahead(to)];
  return { before, after, at: before === after ? to : changeBetween(from, to, ahead) };
}

/** Whether no instant of the hour that begins at `hour` can lie beyond the edge. */
function isBefore(edge: number, hour: number, { before, after }: Change, direction: 1 | -1): boolean {
  const [earliest, latest] = [hour - Math.max(before, after), hour + HOUR_MS - Math.min(before, after)];
  return direction === 1 ? latest <= edge : earliest >= edge;
}

/** The instants at which the zone's clocks show the times `inHour` of an hour. */
function instantsOf(hour: number, inHour: readonly number[], change: Change, isEachHour: boolean): number[] {
  const { before, after, at } = change;
  return inHour.flatMap((ms) => {
    const [first, second] = [hour + ms - before, hour + ms - after];
    // Before the change, or skipped by it.
    if (second < at) return [first];
    if (first >= at) return [second];
    return isEachHour ? [first, second] : [first];
  });
}

/** How far the zone's clocks are ahead of UTC, in ms, at an instant. */
type Ahead = (atMs: number) => number;

function aheadOfUtc(timeZone: string): Ahead {
  const shown = {
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  } as const;
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...shown });
  return (atMs) => {
    const parts = Object.fromEntries(
      format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]),
    );
    const { year, month, day, hour, minute } = parts as Record<keyof typeof shown, number>;
    return Date.UTC(year, month - 1, day, hour, minute) - (atMs - (atMs % MINUTE_MS));
  };
}

/** The instant of the change, to the minute. */
function changeBetween(from: number, to: number, ahead: Ahead): number {
  const before = ahead(from);
  let [earlier, later] = [from, to];
  while (later - earlier > MINUTE_MS) {
    const middle = earlier + Math.floor((later - earlier) / 2 / MINUTE_MS) * MINUTE_MS;
    if (ahead(middle) === before) earlier = middle;
    else later = middle;
  }
  return later;
}

export function isTimeZone(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat("en-US", { timeZone: name }));
  } catch {
    return false;
  }
}

/**
 * Whether an expression restricts both the day of the month and the day of the week. Cron runs it on days that are either,
 * node-cron on days that are both, and who writes it may mean either of the two.
 */
export function hasTwoKindsOfDays(at: string): boolean {
  const { dayOfMonth, dayOfWeek } = parse(at);
  return new Set(dayOfMonth).size < 31 && new Set(dayOfWeek).size < 7;
}
