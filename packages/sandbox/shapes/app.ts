import { isoTime } from "../world/clock.ts";
import { platformHost } from "../world/domains.ts";
import type { AppRecord } from "../world/records.ts";
import { teamAccountOf } from "../world/teams.ts";
import type { World } from "../world/world.ts";
import { named, reference } from "./reference.ts";

/** An app as the API shows it (assumed, section 5). */
export function appShape(world: World, app: AppRecord) {
  const teamRecord = app.teamId === null ? undefined : world.teams.get(app.teamId);
  const { id, email } = teamRecord ? teamAccountOf(teamRecord) : world.users.get(app.ownerId)!;
  const team = teamRecord ? reference(teamRecord) : null;
  const stack = named("stack", app.setup?.stack ?? "default-24");
  const time = isoTime(app.createdAt);
  return {
    id: app.id,
    name: app.name,
    acm: false,
    archived_at: null as string | null,
    buildpack_provided_description: null as string | null,
    build_stack: stack,
    stack,
    generation: named("generation", app.generation),
    git_url: `https://git.platform-apps.example.com/${app.name}.git`,
    internal_routing: null as boolean | null,
    maintenance: false,
    owner: { id, email },
    organization: team,
    team,
    region: named("region", app.region),
    space: null,
    released_at: time,
    repo_size: null as number | null,
    slug_size: null as number | null,
    web_url: `https://${platformHost(app)}/`,
    created_at: time,
    updated_at: isoTime(app.updatedAt),
  };
}

/** The same app as `POST /filters/apps` shows it. */
export function teamAppShape(world: World, app: AppRecord) {
  const { acm: _acm, generation: _generation, organization: _organization, ...shape } = appShape(world, app);
  return { ...shape, joined: true, locked: false, team: shape.team && { name: shape.team.name } };
}
