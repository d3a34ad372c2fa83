import type { Response } from "express";

/** The person who uses the operator's pages. */
export interface Operator {
  /** The name in the audit trail: the account's e-mail, or `operator` for the password. */
  name: string;
  /** The platform's id of the account; null for the password. */
  account: string | null;
}

export const BY_PASSWORD: Operator = { name: "operator", account: null };

export function letIn(response: Response, operator: Operator): void {
  response.locals["operator"] = operator;
}

/** The operator whom the guard has let in; null if it has let in none yet. */
export function operatorOf(response: Response): Operator | null {
  return (response.locals["operator"] as Operator | undefined) ?? null;
}
