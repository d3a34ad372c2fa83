import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { programEnvironment } from "./program.ts";

/** The settings of your own for `npm run check`, in lines `NAME=value`. */
export const CHECK_ENV = "test/your-service/check.env";

type Variables = Record<string, string | undefined>;

/**
 * The environment of what `npm run check` runs, in the repository of the working folder: that of the check, without the
 * kit's settings, so that those of development neither break the check nor lead it to another database. Databases are made
 * on the server of `TEST_DATABASE_URL`, or on one that is started for the purpose. Settings of your own come from the
 * environment, then from {@link CHECK_ENV}; where that file is missing, from `.env`. `isFromDevelopment`: some did.
 */
export function checkSettings(): { environment: Variables; isFromDevelopment: boolean } {
  // Read as text: the code may not compile, which the check is to find.
  const kits = new Set(
    [...readFileSync("src/config.ts", "utf8").matchAll(/\bsetting\("(\w+)"/g)].map(([, name]) => name!),
  );
  const yoursIn = (variables: Variables): Variables =>
    Object.fromEntries(
      Object.entries(variables).filter(([name]) => !kits.has(name) && !name.startsWith("OTEL_")),
    );
  const given = yoursIn(process.env);
  const isOwn = existsSync(CHECK_ENV);
  const yours = yoursIn(variablesIn(isOwn ? CHECK_ENV : ".env"));
  const { TEST_DATABASE_URL = "" } = process.env;
  return {
    environment: { ...yours, ...given, ...programEnvironment, DATABASE_URL: TEST_DATABASE_URL },
    isFromDevelopment: !isOwn && Object.keys(yours).some((name) => !(name in given)),
  };
}

function variablesIn(file: string): Variables {
  try {
    return parseEnv(readFileSync(file, "utf8")) as Variables;
  } catch {
    // It is missing, or a folder: a Python environment is often named `.env`.
    return {};
  }
}
