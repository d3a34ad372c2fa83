import { findLackOfRights } from "../../database/database.ts";
import type { Services } from "../../services.ts";
import { fault, fine, type Finding } from "./check.ts";

/** Checks that the service's role has every right that docs/database.md grants. */
export async function rights({ db }: Services): Promise<Finding> {
  const lack = await findLackOfRights(db);
  if (!lack) return fine("The role has the rights that it needs.");
  const { message, owners, grants } = lack;
  return fault(message, `As ${owners}: ${grants} How later tables come with them: docs/database.md.`);
}
