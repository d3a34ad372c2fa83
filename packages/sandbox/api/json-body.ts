import type { Request, Response } from "express";
import { isObject } from "../is-object.ts";
import { badRequest, invalid } from "../refusal.ts";
import { isJson, isTooDeep } from "../wire/body.ts";
import { bodyOf } from "../wire/recorder.ts";

/** The body of a request: a JSON object with a JSON content type; nothing counts as `{}`. Throws otherwise. */
export function readObject(req: Request, res: Response): Record<string, unknown> {
  if (bodyOf(res) === "") return {};
  if (!isJson(req.headers["content-type"])) throw badRequest("The content type must be application/json.");
  let value: unknown;
  try {
    value = JSON.parse(bodyOf(res));
  } catch {
    throw badRequest("The body is not JSON.");
  }
  if (!isObject(value)) throw invalid("The body must be a JSON object.");
  if (isTooDeep(value)) throw invalid("The body is nested too deep.");
  return value;
}
