import { isoTime } from "../world/clock.ts";
import { uuidOf } from "../world/identity.ts";
import type { AppRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { reference } from "./reference.ts";

/** An app as the API shows it (decisions, section 5). */
export function appShape(world: World, app: AppRecord) {
  const owner = world.users.get(app.ownerId)!;
  const team = app.teamId === null ? null : reference(world.teams.get(app.teamId)!);
  const stack = { id: uuidOf("stack default-24"), name: "default-24" };
  const time = isoTime(app.createdAt);
  return {
    id: app.id,
    name: app.name,
    acm: false,
    archived_at: null as string | null,
    buildpack_provided_description: null as string | null,
    build_stack: stack,
    stack,
    generation: { id: uuidOf(`generation ${app.generation}`), name: app.generation },
    git_url: `https://git.platform-apps.example.com/${app.name}.git`,
    internal_routing: null as boolean | null,
    maintenance: false,
    owner: { id: owner.id, email: team ? `${team.name}@teams.example.com` : owner.email },
    organization: team,
    team,
    region: { id: uuidOf(`region ${app.region}`), name: app.region },
    space: null as { id: string; name: string; shield: boolean } | null,
    released_at: time,
    repo_size: null as number | null,
    slug_size: null as number | null,
    web_url: `https://${app.name}.platform-apps.example.com/`,
    created_at: time,
    updated_at: isoTime(app.updatedAt),
  };
}

/** The same app as `POST /filters/apps` shows it. */
export function teamAppShape(world: World, app: AppRecord) {
  const { acm: _acm, generation: _generation, organization: _organization, ...shape } = appShape(world, app);
  return { ...shape, joined: true, locked: false, team: shape.team && { name: shape.team.name } };
}
