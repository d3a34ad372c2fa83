import type { Request, Response } from "express";
import { Refusal } from "../errors.ts";

/** The last handler of a route: refuses every other method with a 405, in JSON like every error. */
export function methodNotAllowed(allowed: string) {
  return (_request: Request, response: Response): void => {
    response.setHeader("Allow", allowed);
    throw new Refusal(`Only ${allowed} can be used here.`, { id: "method_not_allowed", status: 405 });
  };
}
