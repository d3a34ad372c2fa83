import { functionOf, STEP_KINDS, type StepKind } from "../../src/resources/step-kinds.ts";
import { sourceLines } from "../explain.ts";

/** A line of the service's log about a function of yours that threw. */
interface Line {
  kind?: string;
  job?: string;
  msg: string;
  error?: { message?: string; at?: string };
}

/** How often a function may fail the same way before it is of no use to wait for it. */
const MOST_TIMES = 3;

/** A function of yours failed the same way again and again. */
export class YoursFailed extends Error {}

/** What your functions threw, as the log of the service says. */
export function createYourErrors() {
  const thrown: { name: string; said: string; at: string | undefined; times: number }[] = [];

  return {
    /** Takes notice of a line of the log. */
    read(text: string): void {
      if (!text.includes('"error":')) return;
      const line = JSON.parse(text) as Line;
      const name = nameOf(line);
      if (name === null) return;
      const { message = "", at } = line.error!;
      const said = `${name} failed: ${message}`;
      const known = thrown.find((one) => one.said === said && one.at === at);
      if (known) known.times += 1;
      else thrown.push({ name, said, at, times: 1 });
    },
    /** Throws {@link YoursFailed} once a function has failed the same way three times. */
    check(): void {
      const known = thrown.find(({ times }) => times >= MOST_TIMES);
      if (known)
        throw new YoursFailed(`${known.name} was called ${known.times} times, and failed each time.`);
    },
    /** What was thrown since the last call, in words, with the file, the line and what stands there. */
    inWords: () => thrown.splice(0).map(({ said, at, times }) => `${said}${often(times)}${place(at)}`),
  };
}

/** The function of yours that a line is about; null if there is none. A page and a route have no name in the log. */
function nameOf({ kind = "", job, error, msg }: Line): string | null {
  if (typeof error !== "object" || error === null) return null;
  if (job) return `The job ${job}`;
  if (Object.hasOwn(STEP_KINDS, kind) && STEP_KINDS[kind as StepKind].lane !== "platform")
    return `${functionOf(kind as StepKind)}()`;
  // Its error begins with the name.
  if (msg === "A page failed") return "A page";
  return error.at ? "Your service" : null;
}

const often = (times: number) => (times > 1 ? ` (${times} times)` : "");

function place(at: string | undefined): string {
  const [, file, line] = /^(.+):(\d+)$/.exec(at ?? "") ?? [];
  return file && line ? `\n${sourceLines(file, Number(line))}` : "";
}
