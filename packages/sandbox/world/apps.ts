import { randomUUID } from "node:crypto";
import { conflict, invalid } from "../refusal.ts";
import { addDomains } from "./domains.ts";
import { newName } from "./identity.ts";
import { checkPipelineWish, joinPipeline, type PipelineWish } from "./pipelines.ts";
import type { AppRecord, UserRecord } from "./records.ts";
import { teamIdOf, teamNamed } from "./teams.ts";
import { OWNER, userNamed } from "./users.ts";
import type { World } from "./world.ts";

export interface AppWish extends PipelineWish {
  name?: string;
  /** The name of a team, which is created if it is new. */
  team?: string;
  generation?: string;
  /** One of the add-on's regions, if its manifest names any; the first of them when absent. */
  region?: string;
}

const APP_NAME = /^[a-z][a-z0-9-]{1,28}[a-z0-9]$/;
/** The platform document does not show the names of the generations; these are its descriptions of them. */
const GENERATIONS = ["older", "newer"];

/** Creates an app as a customer would, with its collaborators, domains, pipeline, and team if one is named. */
export function addApp(world: World, wish: AppWish): AppRecord {
  const name = wish.name ?? newName("app", (taken) => world.apps.find(taken) !== undefined);
  checkName(world, name);
  const generation = generationOf(wish.generation ?? "older");
  const region = regionOf(world, wish.region);
  const owner = userNamed(world, OWNER);
  const pipelineOwner =
    wish.team === undefined
      ? { id: owner.id, type: "user" as const }
      : { id: teamIdOf(wish.team), type: "team" as const };
  checkPipelineWish(world, wish, { owner: pipelineOwner, generation });
  const team = wish.team === undefined ? null : teamNamed(world, wish.team);
  const now = world.clock.now();
  const app = world.apps.add({
    id: randomUUID(),
    name,
    ownerId: owner.id,
    teamId: team?.id ?? null,
    generation,
    region,
    createdAt: now,
    updatedAt: now,
  });
  addCollaborators(world, app, owner);
  addDomains(world, app);
  joinPipeline(world, app, pipelineOwner, wish);
  return app;
}

/** Renames an app; everything that names it shows the new name at once, while ids stay ("Usage rules" 1). */
export function renameApp(world: World, app: AppRecord, name: string): AppRecord {
  if (name === app.name) return app;
  checkName(world, name);
  world.apps.rename(app, () => Object.assign(app, { name, updatedAt: world.clock.now() }));
  return app;
}

/** The newer generation takes no log drains and no buildpacks. */
export function isNewerGeneration({ generation }: Pick<AppRecord, "generation">): boolean {
  return generation === "newer";
}

function checkName(world: World, name: string): void {
  if (!APP_NAME.test(name)) {
    throw invalid(
      "Name must start with a letter, end with a letter or digit and have 3 to 30 characters a-z, 0-9, -.",
    );
  }
  if (world.apps.find(name)) throw conflict(`The name ${name} is already taken.`);
}

/** Checks the name of a generation. Throws if it does not exist. */
export function generationOf(wish: string): string {
  if (!GENERATIONS.includes(wish)) throw invalid(`There is no generation ${wish}: it is older or newer.`);
  return wish;
}

/** Throws if the manifest names regions, and this is none of them. */
export function regionOf({ settings }: World, wish: string | undefined): string {
  const regions = settings.addonManifest?.regions ?? [];
  if (wish !== undefined && regions.length > 0 && !regions.includes(wish))
    throw invalid(`There is no region ${wish}: there are ${regions.join(", ")}.`);
  return wish ?? regions[0] ?? "us";
}

function addCollaborators(
  world: World,
  { id: appId, teamId, createdAt }: AppRecord,
  owner: UserRecord,
): void {
  const colleague = userNamed(world, "colleague@example.com");
  const [ownerRole, colleagueRole] = teamId === null ? ["owner", "collaborator"] : ["admin", "member"];
  world.collaborators.add({ id: randomUUID(), appId, userId: owner.id, role: ownerRole!, createdAt });
  world.collaborators.add({ id: randomUUID(), appId, userId: colleague.id, role: colleagueRole!, createdAt });
}
