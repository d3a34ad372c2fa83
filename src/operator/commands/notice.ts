import { currentNotice, SEVERITIES } from "../../people/notice.ts";
import { UsedWrongly } from "../errors.ts";
import { clearNotice, LONGEST_NOTICE, noticeInWords, readNotice, setNotice } from "../notices.ts";
import { inputLines } from "./lines.ts";
import { DONE, example, FAILED, marked, safeLines } from "./outcome.ts";
import type { KitCommand, Session } from "./session.ts";

const NONE = "Customers see no notice.";

export function addNotice(program: KitCommand): void {
  const group = program.command("notice").description("what all customers read at the top of their pages");

  group
    .command("set")
    .argument("[text...]", "the notice; unless given, it is read from standard input")
    .option("--until <time>", "when it ends by itself, such as 2026-01-31T10:00Z")
    .option("--severity <severity>", SEVERITIES.join(", "), "info")
    .description("show a notice to all customers, in the place of the one before")
    .addHelpText(
      "after",
      example(
        `kit notice set "Our brokers are down until 10:00." --until 2026-01-31T10:00Z --severity outage`,
      ),
    )
    .does(async (session, words: string[], options: { until?: string; severity: string }) => {
      const wanted = readNotice({
        ...options,
        text: words.length > 0 ? words.join(" ") : await typedText(session),
      });
      const notice = await setNotice(await session.database({ changes: true }), wanted, session.user());
      const text = noticeInWords(notice);
      return { data: { notice }, message: text, show: (paint) => marked(paint, text) };
    });

  group
    .command("show")
    .description("the notice that customers see now")
    .does(async (session) => {
      const notice = await currentNotice(await session.database());
      return { data: { notice }, show: () => (notice ? safeLines(noticeInWords(notice), "") : NONE) };
    });

  group
    .command("clear")
    .description("take the notice away")
    .does(async (session) => {
      const cleared = await clearNotice(await session.database({ changes: true }));
      const text = cleared ? "The notice was taken away." : NONE;
      return {
        data: { cleared },
        message: text,
        show: (paint) => (cleared ? marked(paint, text) : text),
        exitCode: cleared ? DONE : FAILED,
      };
    });
}

/** What is too long is refused anyway, so the rest of it is not read. */
async function typedText({ host, how }: Session): Promise<string> {
  if (host.stdin.isTTY) throw new UsedWrongly(`Give the text: kit notice set "…".`);
  let text = "";
  for await (const line of inputLines(host.stdin, how().signal)) {
    text += `${line}\n`;
    if (text.length > 10 * LONGEST_NOTICE) break;
  }
  return text;
}
