import type { ValuesOf } from "../setting.ts";

/**
 * Settings of your own, read and checked at start with those of the kit, and passed to `createYourService`. An entry is
 * `shopUrl: setting("SHOP_URL", "where our shop is", text)`, with `setting`, `text`, `secret` and the others from
 * `../setting.ts`. `npm run make-it-yours -- --settings` lists it in `.env.example`, `app.json`, `compose.yaml` and
 * `ops/sandbox.env`, as a test wants it.
 */
export const yourSettings = {};

export type YourSettings = ValuesOf<typeof yourSettings>;
