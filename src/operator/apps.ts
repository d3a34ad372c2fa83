import type { Context } from "../context.ts";
import { findApps } from "../work/platform-steps.ts";
import { typedUuid } from "./errors.ts";

interface Named {
  id: string;
  name: string;
}

/** The app on which a resource was installed, and all its attachments. */
export interface AppsReport {
  primary: Named;
  attachments: (Named & { app: Named })[];
}

/** Asks the platform for the apps of a resource, and stores the primary one. */
export async function appsOf(
  ctx: Pick<Context, "db" | "platformFor">,
  typed: string,
): Promise<AppsReport> {
  const { primary, attachments } = await findApps(ctx, typedUuid(typed));
  return {
    primary: named(primary),
    attachments: attachments.map((attachment) => ({ ...named(attachment), app: named(attachment.app) })),
  };
}

function named({ id, name }: Named): Named {
  return { id, name };
}
