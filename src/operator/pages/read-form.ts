import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import { askForBody } from "../../http/ask-for-body.ts";
import { isUnreadableBody } from "../../http/unreadable-body.ts";
import { operatorProblem } from "./problems.ts";

/** The largest form holds a client secret, or a name and a fingerprint for each config var. */
const MOST_BODY_BYTES = 32 * 1024;

/** The members of a form; each has all values that were sent under its name. */
export type Form = Readonly<Record<string, readonly string[]>>;

const parse = express.urlencoded({ extended: false, limit: MOST_BODY_BYTES, parameterLimit: 500 });

export const parseForm: RequestHandler = (request, response, next) => {
  askForBody(request, response);
  parse(request, response, next);
};

export const refuseUnreadable: ErrorRequestHandler = (error: unknown, _request, _response, next) => {
  next(isUnreadableBody(error) ? operatorProblem("unreadable") : error);
};

export function formIn(body: unknown): Form {
  const members = Object.entries((body ?? {}) as Record<string, unknown>);
  return Object.fromEntries(
    members.map(([name, value]) => [
      name,
      (Array.isArray(value) ? value : [value]).filter((each) => typeof each === "string"),
    ]),
  );
}
