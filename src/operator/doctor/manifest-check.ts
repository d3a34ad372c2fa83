import { readFile } from "node:fs/promises";
import path from "node:path";
import { counted, fault, fine, type Finding } from "./check.ts";

/**
 * Checks whether the platform could make an app from the `app.json` in `folder`. A deployment of `dist/` alone has
 * none.
 */
export async function manifest(folder: string): Promise<Finding> {
  const bytes = await readFile(path.join(folder, "app.json")).catch(() => null);
  if (bytes === null) return fine("There is no app.json here to be checked.");
  const { checkManifestText } = await import("../../manifest/check.ts");
  const errors = checkManifestText(bytes).faults.filter(({ severity }) => severity === "error");
  if (errors.length === 0) return fine("An app can be made from app.json.");
  return fault(
    `app.json breaks ${counted(errors.length, "rule")} of the platform: no app can be made from it.`,
    "See each with: kit manifest check app.json",
  );
}
