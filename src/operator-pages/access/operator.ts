import type { Response } from "express";

/** Who is using the operator's pages. */
export interface Operator {
  /** As the audit trail has it: an account's e-mail; or `operator`, who has the password. */
  name: string;
  /** The platform's id of the account; null: the password. */
  account: string | null;
}

export const BY_PASSWORD: Operator = { name: "operator", account: null };

export function letIn(response: Response, operator: Operator): void {
  response.locals["operator"] = operator;
}

/** Whom the guard let in; null: nobody so far. */
export function operatorOf(response: Response): Operator | null {
  return (response.locals["operator"] as Operator | undefined) ?? null;
}
