import type { AddonRecord, AppRecord, ReleaseRecord } from "./records.ts";
import type { World } from "./world.ts";

/** How many are kept of each app. */
const KEPT = 50;

/** The releases of an app, oldest first. */
export function releasesOf({ releases, createdAt }: AppRecord): ReleaseRecord[] {
  return releases ?? [{ version: 1, description: "Initial release", at: createdAt }];
}

/** Adds a release to an app; `description` says what changed. */
export function noteRelease({ clock }: World, app: AppRecord, description: string): void {
  const before = releasesOf(app);
  const version = before.at(-1)!.version + 1;
  app.releases = [...before, { version, description, at: clock.now() }].slice(-KEPT);
}

/** Adds a release to each app that an add-on is attached to. */
export function noteReleases(world: World, { id, name }: AddonRecord, what: string): void {
  for (const appId of new Set(world.attachments.of("addon", id).map((each) => each.appId)))
    noteRelease(world, world.apps.get(appId)!, `${what} ${name}`);
}
