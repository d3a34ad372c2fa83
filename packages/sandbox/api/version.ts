import type { RequestHandler } from "express";
import type { Platform } from "../platform.ts";
import { Refused } from "../refusal.ts";
import { callerOf, isCustomer } from "./caller.ts";

const VENDOR = "application/vnd.";

/**
 * Only the `Accept` header chooses the version; a missing or different one is refused ("Versioning" 1). A version with
 * a suffix, such as `3.sdk`, is the version before the point; other parameters are ignored (assumed, section 7). The type of
 * customers' calls may have any vendor's name.
 */
export function checkVersion({ world }: Platform): RequestHandler {
  return (req, res, next) => {
    const wanted = read(world.settings.mediaType);
    const offered = (req.headers.accept ?? "").split(",").map(read);
    const isVendors = isCustomer(world, callerOf(res)) && wanted.type.startsWith(VENDOR);
    const isWanted = ({ type, version }: ReturnType<typeof read>) =>
      (type === wanted.type || (isVendors && type.startsWith(VENDOR))) &&
      (!wanted.version || `${version}.`.startsWith(`${wanted.version}.`));
    if (!offered.some(isWanted)) {
      throw new Refused(406, "not_acceptable", `The Accept header must be ${world.settings.mediaType}.`);
    }
    next();
  };
}

/** A media type and its version ("" if it names none), without white space and quotes. */
function read(mediaType: string) {
  const [type = "", ...parameters] = mediaType
    .toLowerCase()
    .replace(/[\s"]+/g, "")
    .split(";");
  return { type, version: parameters.find((each) => each.startsWith("version="))?.slice(8) ?? "" };
}
