import type { ValuesOf } from "../setting.ts";

/**
 * Settings of your own, read and checked at start with those of the kit, and handed to `createYourService`. A row is
 * `shopUrl: setting("SHOP_URL", "where our shop is", text)`, with `setting` from `../setting.ts` and `text`, `secret`
 * and their like from `../setting-kinds.ts`. Put its name into `.env.example` and `app.json` too; a test asks for it.
 */
export const yourSettings = {};

export type YourSettings = ValuesOf<typeof yourSettings>;
