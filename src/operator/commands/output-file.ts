import { constants } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { KitError, messageOf } from "../../errors.ts";

/** The file could not be written; no part of it is left. */
export class Unwritable extends KitError {}

/**
 * Writes a file as a whole or not at all. An existing one is replaced only with `overwrite`. A secret file is readable
 * by its owner alone from its first byte on, whatever the mode of the old one was. Throws {@link Unwritable}.
 */
export async function writeOutput(
  name: string,
  text: string,
  { isSecret, overwrite }: { isSecret: boolean; overwrite: boolean },
): Promise<void> {
  const fresh = overwrite ? `${name}.${process.pid}.new` : name;
  try {
    await writeFresh(fresh, text, isSecret ? 0o600 : 0o644);
    if (overwrite) await rename(fresh, name).catch((error: unknown) => removing(fresh, error));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST")
      throw new Unwritable("exists", `${name} exists already: --overwrite replaces it.`, { cause: error });
    throw new Unwritable("unwritable", `${name} cannot be written: ${messageOf(error)}.`, { cause: error });
  }
}

async function writeFresh(name: string, text: string, mode: number): Promise<void> {
  const file = await open(name, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, mode);
  try {
    await file.writeFile(text);
  } catch (error) {
    await removing(name, error);
  } finally {
    await file.close();
  }
}

/** Removes the partial file, then throws `error`. */
async function removing(name: string, error: unknown): Promise<never> {
  await rm(name, { force: true });
  throw error;
}
