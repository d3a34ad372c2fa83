import type { ValuesOf } from "../setting.ts";

/**
 * Settings of your own, read and checked at start with those of the kit, and passed to `createYourService`. An entry is
 * `shopUrl: setting("SHOP_URL", "where our shop is", text)`, with `setting`, `text`, `secret` and the others from
 * `../setting.ts`. Add its name to `.env.example`, `app.json` and `compose.yaml` too; a test checks that.
 */
export const yourSettings = {};

export type YourSettings = ValuesOf<typeof yourSettings>;
