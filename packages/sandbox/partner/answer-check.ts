import { isObject } from "../is-object.ts";
import { isJson } from "../wire/body.ts";
import { CONFIG_VAR_NAMES, isConfigVarName, isDeclared } from "../world/addon-life.ts";
import { takenBy } from "../world/attachments.ts";
import { isDrainUrl } from "../world/log-drains.ts";
import type { AddonRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import type { PartnerResponse } from "./calls.ts";

const PROMISED_MS = 3000;

/** The complaint about a success answer for a resource whose end the service had already confirmed. */
export const SHOULD_BE_410 = "The resource was deprovisioned before; the answer should be 410.";

export interface CheckedBody {
  id?: string;
  message?: string;
  /** Only declared names with string values. */
  config: [string, string][];
  logDrainUrl?: string;
  complaints: string[];
}

/** Reads the body of a success answer and collects complaints about it (assumed, section 1). */
export function checkBody(world: World, addon: AddonRecord, response: PartnerResponse): CheckedBody {
  const complaints: string[] = [];
  if (!isJson(response.headers["content-type"])) complaints.push("The answer's content type is not JSON.");
  if (response.ms > PROMISED_MS)
    complaints.push(`The answer took ${response.ms} ms; at most 3 s are promised.`);
  if (!isObject(response.body)) {
    return { config: [], complaints: [...complaints, "The answer's body is not a JSON object."] };
  }
  const { id, message, config, log_drain_url: logDrainUrl } = response.body;
  const checked: CheckedBody = { config: [], complaints };
  if (typeof id === "string" && id !== "") checked.id = id;
  if (typeof message === "string") checked.message = message;
  else if (message !== undefined) complaints.push("message is not a string.");
  if (typeof logDrainUrl === "string" && isDrainUrl(logDrainUrl)) checked.logDrainUrl = logDrainUrl;
  else if (logDrainUrl !== undefined) complaints.push("log_drain_url is not a syslog or http URL.");
  if (isObject(config)) {
    for (const [name, value] of Object.entries(config)) {
      if (!isConfigVarName(name))
        complaints.push(`${JSON.stringify(name)} is no name of a config var. ${CONFIG_VAR_NAMES}`);
      else if (!isDeclared(world, name))
        complaints.push(`The config var ${name} is not declared in the add-on's manifest.`);
      else if (typeof value !== "string")
        complaints.push(`The value of the config var ${name} is not a string.`);
      else if (takenBy(world, addon, name) !== null)
        complaints.push(
          `The config var ${name} is left out: an app has ${takenBy(world, addon, name)} already.`,
        );
      else checked.config.push([name, value]);
    }
  } else if (config !== undefined) complaints.push("config is not an object of names and values.");
  return checked;
}

/** Complains about a refusal that is not `{id, message}`, with a sentence for the customer. */
export function checkRefusal(response: PartnerResponse): string[] {
  if (response.status === null) return [response.error ?? "There was no answer."];
  const { id, message } = (response.body ?? {}) as Record<string, unknown>;
  const isReadable = typeof id === "string" && typeof message === "string";
  return isReadable ? [] : ["The refusal's body is not {id, message}."];
}
