import type { RequestHandler } from "express";
import type { Platform } from "../platform.ts";
import { Refused } from "../refusal.ts";

/** Only the `Accept` header chooses the version; a missing or different one is refused ("Versioning" 1). */
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

/** Normalizes a media type: parameters sorted, without white space and quotes; the weight `q` is ignored. */
function canonical(mediaType: string): string {
  const [type, ...parameters] = mediaType
    .toLowerCase()
    .replace(/[\s"]+/g, "")
    .split(";");
  return [type, ...parameters.filter((parameter) => !parameter.startsWith("q=")).sort()].join(";");
}
