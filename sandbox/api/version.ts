import type { RequestHandler } from "express";
import type { Platform } from "../platform.ts";
import { Refused } from "../refusal.ts";

/** The version is chosen by the `Accept` header alone; none or another is refused ("Versioning" 1). */
export function checkVersion({ world }: Platform): RequestHandler {
  return (req, _res, next) => {
    const wanted = canonical(world.settings.mediaType);
    const offered = (req.headers.accept ?? "").split(",").map(canonical);
    if (!offered.includes(wanted)) {
      throw new Refused(406, "not_acceptable", `The Accept header must be ${world.settings.mediaType}.`);
    }
    next();
  };
}

/** Type and parameters in a fixed order, without white space and quotes; the weight `q` does not matter. */
function canonical(mediaType: string): string {
  const [type, ...parameters] = mediaType
    .toLowerCase()
    .replace(/[\s"]+/g, "")
    .split(";");
  return [type, ...parameters.filter((parameter) => !parameter.startsWith("q=")).sort()].join(";");
}
