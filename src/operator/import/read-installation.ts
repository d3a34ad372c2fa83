import { isJsonObject, parsedJson, type JsonObject } from "../../json-object.ts";
import type { Offer } from "../../resources/contract.ts";
import type { Installation } from "../../resources/end-store.ts";
import { readUuid } from "../../uuid.ts";

/** What is wrong with a line, and its uuid if that could be read. */
export interface BadLine {
  uuid: string | null;
  reason: "not_json" | "no_uuid" | "no_plan" | "unknown_plan" | "bad_text";
}

export type ReadLine = Installation | BadLine;

/**
 * One line of an import, `{uuid, plan, region?, name?}`; further members are ignored. The plan is the bare name or, as
 * the platform's API writes it, `service:plan`. It must be on offer: the vendor's functions are called with it later.
 */
export function readInstallation(line: string, offer: Offer): ReadLine {
  const members = membersOf(line);
  if (!members) return { uuid: null, reason: "not_json" };
  const uuid = readUuid(text(members["uuid"])?.trim());
  if (!uuid) return { uuid: null, reason: "no_uuid" };
  const plan = text(members["plan"])?.replace(/^[^:]*:/, "");
  if (!plan) return { uuid, reason: "no_plan" };
  if (!Object.hasOwn(offer.plans, plan)) return { uuid, reason: "unknown_plan" };
  const [region, name] = [members["region"] ?? null, members["name"] ?? null];
  if (!isKeepable(region) || !isKeepable(name)) return { uuid, reason: "bad_text" };
  return { uuid, plan, region, name };
}

function membersOf(line: string): JsonObject | null {
  const value = parsedJson(line);
  return isJsonObject(value) ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Whether a member is absent, or a text that PostgreSQL can store unchanged. */
function isKeepable(value: unknown): value is string | null {
  return value === null || (typeof value === "string" && !value.includes("\0") && value.isWellFormed());
}
