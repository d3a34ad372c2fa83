import type { Environment } from "../manifest/manifest.ts";
import type { AppWish } from "../world/apps.ts";
import { checkMembers, object, oneOf, tableOf, text } from "./members.ts";

export interface ManifestAppWish extends AppWish {
  /** An `app.json`, as an object; read only now, not at later deploys. */
  manifest?: object;
  /** `test` for a CI app, `review` for a review app: both ephemeral. */
  environment?: Environment;
  /** Values of config vars, as a person fills them into the form. */
  env?: Record<string, string>;
}

const members = {
  name: text,
  team: text,
  generation: text,
  region: text,
  pipeline: text,
  stage: text,
  manifest: object,
  environment: oneOf("test", "review"),
  env: tableOf(/^[^=\0]+$/, (value) => {
    if (typeof value !== "string") throw new Error("must hold strings");
    return value;
  }),
};

/** Checks the request for a new app. */
export function checkAppWish(wish: object): ManifestAppWish {
  return checkMembers(wish, members);
}
