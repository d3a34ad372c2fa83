import type { LedgerEntry } from "../packages/sandbox/index.ts";
import { colours } from "./colours.ts";
import { took } from "./wording.ts";

const INDENT = " ".repeat(10);

/** A call as two lines: the caller, the request and the status; and what the call means. */
export function tellCall(
  { at, direction, method, path, response, ms, fault }: LedgerEntry,
  meaning: string,
): string {
  const caller = path.startsWith("/oauth/authorize") ? "they" : "you";
  const who = direction === "out" ? "platform → you" : `${caller} → platform`;
  const status = response?.status ?? 0;
  const colour = status >= 500 || status === 0 ? colours.red : status >= 400 ? colours.yellow : colours.green;
  const call = `${method} ${shortened(path)}`.padEnd(44);
  const facts = [call, colour(status === 0 ? "---" : String(status)), colours.dim(took(ms).padStart(7))];
  const line = `${time(at)}  ${colours.bold(who)}  ${facts.join("  ")}${fault ? colours.yellow("  (a fault you asked for)") : ""}`;
  return meaning === "" ? line : `${line}\n${paragraph(meaning)}`;
}

/** A warning or error from the service's log. */
export function tellWarning(at: string, isError: boolean, text: string): string {
  return `${time(at)}  ${isError ? colours.red("! your service") : colours.yellow("! your service")}  ${text}`;
}

export function time(at: string): string {
  return colours.dim(new Date(at).toTimeString().slice(0, 8));
}

/** Shortens uuids, which nobody reads, and the query of the authorize page. */
export function shortened(path: string): string {
  return path
    .replace(/\b([0-9a-f]{8})-[0-9a-f-]{27}\b/g, "$1…")
    .replace(/^(\/oauth\/authorize[^?]*)\?.*/, "$1?…");
}

/** Breaks a text into lines that fit any terminal. */
export function paragraph(text: string, indent = INDENT, width = 96): string {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)!} ${word}`.trim();
    if (longer.length + indent.length > width && lines.at(-1) !== "") lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.map((line) => indent + line).join("\n");
}
