import type { Fault } from "../../manifest/check.ts";
import type { Screen } from "./screen.ts";
import { counted, safe, wrapped } from "./text.ts";

/** The faults of a file, one below the other, and a summary line. */
export function faultList(screen: Screen, of: string, faults: readonly Fault[]): string {
  const width = Math.max(0, ...faults.map(({ place }) => placeText(place).length));
  return [...faults.map((fault) => showFault(screen, fault, width)), summary(screen, of, faults)].join("\n");
}

function showFault(
  { columns, paint }: Screen,
  { pointer, severity, message, place }: Fault,
  width: number,
): string {
  const mark = severity === "error" ? paint.red("✗") : paint.yellow("!");
  const indent = " ".repeat(width + 4);
  const where = paint.bold(pointer === "" ? "(the whole file)" : safe(pointer));
  const head = `${mark} ${paint.dim(placeText(place).padEnd(width))}  ${where}`;
  return `${head}\n${indent}${wrapped(safe(message), columns, indent)}\n`;
}

function placeText(place: Fault["place"]): string {
  return place ? `${place.line}:${place.column}` : "";
}

function summary({ paint }: Screen, of: string, faults: readonly Fault[]): string {
  const errors = faults.filter(({ severity }) => severity === "error").length;
  const warnings = faults.length - errors;
  const name = safe(of);
  if (errors > 0) {
    const more = warnings > 0 ? `, ${counted(warnings, "warning")}` : "";
    return paint.red(`${name}: ${counted(errors, "error")}${more}.`);
  }
  if (warnings > 0) return `${name} breaks no rule: ${counted(warnings, "warning")}.`;
  return paint.green(`${name} is sound.`);
}
