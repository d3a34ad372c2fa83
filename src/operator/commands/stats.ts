import { type Business, type DayOfBusiness, type Failure, readBusiness } from "../business.ts";
import { counted, moment } from "../wording.ts";
import type { Paint } from "./host.ts";
import { example, safe, table } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

export function addStats(program: KitCommand): void {
  program
    .command("stats")
    .summary("customers, this week, failed today")
    .description("how the service is doing: customers by plan, this week, what failed today")
    .addHelpText(
      "after",
      `${example("kit stats --json")}

Days are those of UTC. done: answered 200; later: answered 202; refused: answered
with an error of the request (4xx); lost: answered with one of ours (5xx).`,
    )
    .does(async (session) => {
      // A command may wait: on a day on which something failed for half a million customers, to count them takes seconds.
      const business = await readBusiness({ query: (await session.database()).readWhole });
      return { data: documentOf(business), show: (paint) => inWords(paint, business) };
    });
}

/** `failed`: for how many resources something failed today. */
function documentOf({ at, customers, isEstimate, plans, days, failures, failedCalls }: Business) {
  const { came, gone, changed, provisions } = days.at(-1)!;
  const failed = failures.reduce((sum, { count }) => sum + count, 0);
  return {
    at,
    customers,
    isEstimate,
    byPlan: plans,
    today: { new: came, gone, changed, failed, ...provisions },
    week: days.map((day) => ({
      day: day.day,
      new: day.came,
      gone: day.gone,
      changed: day.changed,
      ...day.provisions,
    })),
    failures,
    failedCalls,
  };
}

function inWords(paint: Paint, { customers, isEstimate, plans, days, week, ...today }: Business): string {
  const about = isEstimate ? "About " : "";
  const rows = days.map((day, index) => inRow(index === days.length - 1 ? "today" : weekday(day.day), day));
  return [
    paint.bold(`${about}${counted(customers, "customer")}`),
    ...(plans.length > 0
      ? [
          table(
            paint,
            plans.map((of) => ({
              plan: of.plan,
              customers: String(of.customers),
              arriving: count(of.arriving),
            })),
            true,
          ),
        ]
      : []),
    "",
    paint.bold("This week"),
    table(paint, [...rows, inRow("all", week)], true),
    conversion(week),
    "",
    paint.bold("Failed today"),
    ...failedInWords(today),
  ].join("\n");
}

const WEEKDAYS = "Sun Mon Tue Wed Thu Fri Sat".split(" ");
const weekday = (day: string) => `${WEEKDAYS[new Date(day).getUTCDay()]} ${day.slice(5)}`;
/** Zeros would hide the others. */
const count = (number: number) => (number === 0 ? "·" : String(number));

function inRow(day: string, { came, gone, changed, provisions }: Omit<DayOfBusiness, "day">) {
  const { done, later, refused, lost } = provisions;
  const counts = { new: came, gone, changed, "done (200)": done, "later (202)": later, refused, lost };
  return {
    "day (utc)": day,
    ...Object.fromEntries(Object.entries(counts).map(([title, number]) => [title, count(number)])),
  };
}

function conversion({ provisions: { done, later, refused, lost } }: Business["week"]): string {
  const all = done + later + refused + lost;
  if (all === 0) return "No answer to a provision was counted.";
  const sold = Math.floor(((done + later) / all) * 100);
  return `Of ${counted(all, "provision")}, ${done} answered at once, ${later} later, ${refused} refused, ${lost} lost: ${sold} % sold.`;
}

function failedInWords({ failures, failedCalls }: Pick<Business, "failures" | "failedCalls">): string[] {
  if (failures.length + failedCalls.length === 0) return ["Nothing since midnight, UTC."];
  const calls = failedCalls.map(({ function: name, count: times }) => `${name}() ${times}`).join(", ");
  return [
    ...failures.map(failureInWords),
    ...(calls ? [`Calls of your functions that failed or were cut off, and are made again: ${calls}.`] : []),
  ];
}

function failureInWords({ inWords: what, count: of, lastAt, some }: Failure): string {
  const named = some.map(
    ({ uuid, name, plan, app }) =>
      `  ${uuid}  ${safe([name, plan, app && `on ${app}`].filter(Boolean).join(", "))}`,
  );
  const more = of > some.length ? [`  and ${of - some.length} more`] : [];
  return [`${of} ${what}, the last at ${moment(lastAt)}:`, ...named, ...more].join("\n");
}
