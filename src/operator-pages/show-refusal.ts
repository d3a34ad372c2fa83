import type { ErrorRequestHandler } from "express";
import { KitError, Refusal } from "../errors.ts";
import { UnknownResource, UsedWrongly } from "../operator/errors.ts";
import { PlatformRefused } from "../platform/api-errors.ts";
import { TransportError } from "../platform/http-errors.ts";
import { refused } from "./problems.ts";

/** What an operation says no with, made a page of. Anything else goes on, to be a page for what nobody foresaw. */
export const showRefusal: ErrorRequestHandler = (error: unknown, _request, _response, next) => {
  next(toShow(error));
};

function toShow(error: unknown): unknown {
  if (!(error instanceof KitError) || error instanceof Refusal) return error;
  if (error instanceof UnknownResource) return refused(error.id, 404, error.message);
  if (error instanceof UsedWrongly) return refused(error.id, 400, error.message);
  if (error instanceof PlatformRefused || error instanceof TransportError)
    return refused(error.id, 502, `The platform does not give what this needs: ${error.message}.`);
  return error;
}
