import { perRegion, secret, setting, text, type ValuesOf } from "../setting.ts";
import { offer } from "./plans.ts";

export const yourSettings = {
  queueApiUrl: perRegion(offer.regions, "QUEUE_API_URL", "where the broker's own API is", text),
  queueApiToken: setting(
    "QUEUE_API_TOKEN",
    "opens the broker's API, and signs what the broker sends us",
    secret,
  ),
};

export type YourSettings = ValuesOf<typeof yourSettings>;
