import type { Request, Response } from "express";
import { Refusal } from "../errors.ts";

/** A request had a method that its route does not have: 405. */
export class MethodNotAllowed extends Refusal {
  /** Whether the request came without credentials that were checked; anybody can send such by the thousand. */
  readonly isFromStranger: boolean;

  constructor(allowed: string, isFromStranger: boolean) {
    super(`Only ${allowed} can be used here.`, { id: "method_not_allowed", status: 405 });
    this.isFromStranger = isFromStranger;
  }
}

/**
 * The last handler of a route: refuses every other method with a 405, in JSON like every error. `isGuarded`: only
 * requests whose credentials were accepted come to the route.
 */
export function methodNotAllowed(allowed: string, { isGuarded = false } = {}) {
  return (_request: Request, response: Response): void => {
    response.setHeader("Allow", allowed);
    throw new MethodNotAllowed(allowed, !isGuarded);
  };
}
