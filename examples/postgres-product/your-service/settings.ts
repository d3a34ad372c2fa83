import { encryptionKey, postgresUrl, setting, type ValuesOf } from "../setting.ts";

/** Settings of our own; both become a `Secret`, which no log line shows. */
export const yourSettings = {
  productDatabaseUrl: setting(
    "PRODUCT_DATABASE_URL",
    "the PostgreSQL that drawers are made in; its role may create roles, and schemas in that database",
    postgresUrl,
  ),
  productPasswordKey: setting(
    "PRODUCT_PASSWORD_KEY",
    "customers' passwords are made from it: at least 32 characters, never to be changed",
    encryptionKey,
  ),
};

export type YourSettings = ValuesOf<typeof yourSettings>;
