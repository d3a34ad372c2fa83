import type { Response } from "express";
import type { Operator } from "../../audit.ts";

export function letIn(response: Response, operator: Operator): void {
  response.locals["operator"] = operator;
}

/** The operator whom the guard has let in; null if it has let in none yet. */
export function operatorOf(response: Response): Operator | null {
  return (response.locals["operator"] as Operator | undefined) ?? null;
}
