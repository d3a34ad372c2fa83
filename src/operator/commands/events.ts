import { messageOf } from "../../errors.ts";
import { UsedWrongly } from "../errors.ts";
import { EVENT_GROUPS, followEvents, groupOf, listEvents, type StreamEvent, type Wish } from "../events.ts";
import { detailsInWords } from "../resource-facts.ts";
import { moment, planInWords } from "../wording.ts";
import type { Paint } from "./host.ts";
import { DONE, example, jsonText, safe } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

type Typed = Wish & { follow?: boolean; limit?: number };

const MOST = 100_000;

export function addEvents(program: KitCommand): void {
  program
    .command("events")
    .option("--type <type>", `only those of this type, or of these: ${EVENT_GROUPS.join(", ")}`)
    .option("--plan <plan>", "only those of resources of this plan")
    .option("--app <app>", "only those of the app with this name or id")
    .option("--limit <number>", "how many; of those before --follow, 10 unless given", limit)
    .option("--follow", "the oldest first, and then each new one, until Ctrl-C")
    .description("what happened to all resources, the newest first, 25 unless --limit says how many")
    .addHelpText(
      "after",
      `${example("kit events --follow --type failed")}

With --json, a line each: at, uuid, name, plan, app, type, detail. Refreshes are
counted by the hour, for all resources together (uuid is null then).`,
    )
    .does(async (session, { follow = false, limit: most = follow ? 10 : 25, ...wish }: Typed) => {
      const db = await session.database();
      session.endProgress();
      const paint = session.paint("stdout");
      const write = (event: StreamEvent) =>
        session.write(session.isJson ? jsonText(event) : lineOf(paint, event));
      const { stdout } = session.host;
      const gone = new AbortController();
      // A reader that goes while nothing happens is noticed by the next event.
      for (const end of ["error", "close"]) stdout.once(end, () => gone.abort());
      const signal = AbortSignal.any([session.how({ isQuiet: true }).signal, gone.signal]);
      const events = follow
        ? followEvents(db, {
            ...wish,
            signal,
            everyMs: session.pace.followMs,
            past: most,
            onTrouble: (error) =>
              session.complain(`The database does not answer, which is tried again: ${messageOf(error)}`),
            onRecovered: () => session.say("The database answers again."),
          })
        : pages();
      for await (const event of events) if (signal.aborted || !(await write(event))) break;
      return { data: null, isWritten: true, exitCode: DONE, show: () => "" };

      async function* pages(): AsyncGenerator<StreamEvent> {
        let left = most;
        let after: string | undefined;
        do {
          const page = await listEvents(db, { ...wish, after }, Math.min(left, 200));
          yield* page.events;
          left -= page.events.length;
          after = page.next ?? undefined;
        } while (left > 0 && after !== undefined);
      }
    });
}

function limit(text: string): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > MOST)
    throw new UsedWrongly(`--limit is a number from 1 to ${MOST}, not "${text}".`);
  return number;
}

function lineOf(paint: Paint, { at, uuid, name, plan, app, type, detail }: StreamEvent): string {
  const words = type.replaceAll("_", " ").padEnd(20);
  const shown = groupOf(type) === "failed" ? paint.red(words) : words;
  const whose = [
    name ?? uuid ?? "all resources",
    app && `on ${app.name}`,
    plan !== null && planInWords(plan),
  ];
  const about = safe(whose.filter(Boolean).join(", "));
  return `${paint.dim(moment(at))}  ${shown}  ${about}  ${paint.dim(safe(detailsInWords(detail)))}`.trimEnd();
}
