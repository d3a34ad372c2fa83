import type { Request, Response } from "express";
import { Refusal } from "./errors.ts";

/** For the end of a route: a known path, asked for in another way. Answered as JSON, like everywhere. */
export function methodNotAllowed(allowed: string) {
  return (_request: Request, response: Response): void => {
    response.setHeader("Allow", allowed);
    throw new Refusal(`Only ${allowed} can be used here.`, { id: "method_not_allowed", status: 405 });
  };
}
