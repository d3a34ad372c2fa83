import type { Platform } from "../platform.ts";
import { incidentShape } from "../status/incident-shape.ts";
import {
  checkIncident,
  checkIncidentUpdate,
  type IncidentUpdateWish,
  type IncidentWish,
} from "../status/incident-wish.ts";
import { addIncident, findIncident, updateIncident } from "../status/incidents.ts";
import type { IncidentRecord } from "../world/records.ts";

/** What the platform's staff post to its status feed; each call returns the incident as it is afterwards. */
export function createIncidentControl(platform: Platform) {
  const { world } = platform;
  const told = (incident: IncidentRecord) => {
    platform.changed();
    return incidentShape(incident, world.clock.now(), platform.publicUrl())!;
  };
  const update = (id: number | string, wish: IncidentUpdateWish) => {
    const incident = findIncident(world, String(id));
    updateIncident(world, incident, checkIncidentUpdate(wish));
    return told(incident);
  };
  return {
    /** Opens an incident, or a maintenance with `kind: "maintenance"`. */
    openIncident: (wish: IncidentWish) => told(addIncident(world, checkIncident(wish))),

    updateIncident: update,

    resolveIncident: (id: number | string, contents?: string) =>
      update(id, { resolved: true, ...(contents !== undefined && { contents }) }),
  };
}
