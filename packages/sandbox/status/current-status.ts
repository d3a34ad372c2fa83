import type { Platform } from "../platform.ts";
import { type IncidentShape, incidentShape } from "./incident-shape.ts";

/** The incidents as of the feed's last refresh ("refreshes every 30 seconds"; a setting here), the newest first. */
export function seenIncidents(
  platform: Platform,
): { id: number; isMaintenance: boolean; shape: IncidentShape }[] {
  const { world } = platform;
  const refreshMs = world.settings.statusRefreshSeconds * 1000;
  const now = world.clock.now();
  const asOf = refreshMs === 0 ? now : now - (now % refreshMs);
  return world.incidents
    .all()
    .flatMap((incident) => {
      const shape = incidentShape(incident, asOf, platform.publicUrl());
      return shape ? [{ id: incident.id, isMaintenance: incident.kind === "maintenance", shape }] : [];
    })
    .reverse();
}

/** The worst status of each system in open incidents, the open incidents, and the planned or current maintenance. */
export function currentStatus(platform: Platform) {
  // A maintenance is over too if its state says so, whatever `resolved` says (assumed, section 5).
  const isOver = (state: string) => /^completed?$/.test(state);
  const open = seenIncidents(platform).filter(
    ({ isMaintenance, shape }) => !shape.resolved && !(isMaintenance && isOver(shape.state)),
  );
  const acute = open.filter(({ shape }) => shape.state !== "upcoming");
  return {
    status: systemStatus(acute.flatMap(({ shape }) => shape.systems)),
    incidents: open.filter(({ isMaintenance }) => !isMaintenance).map(({ shape }) => shape),
    scheduled: open.filter(({ isMaintenance }) => isMaintenance).map(({ shape }) => shape),
  };
}

function systemStatus(affected: IncidentShape["systems"]): { system: string; status: string }[] {
  const worst = new Map(["Apps", "Data", "Tools"].map((system) => [system, "green"]));
  for (const { name, status } of affected) {
    if (gravity(status) > gravity(worst.get(name) ?? "green")) worst.set(name, status);
    else if (!worst.has(name)) worst.set(name, status);
  }
  return [...worst].map(([system, status]) => ({ system, status }));
}

/** How grave a status is. An unknown one ranks like yellow: something does not work as it should. */
function gravity(status: string): number {
  const known = ["green", "blue", "yellow", "red"].indexOf(status);
  return known === -1 ? 2 : known;
}
