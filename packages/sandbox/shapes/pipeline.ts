import { isoTime } from "../world/clock.ts";
import type { CouplingRecord, PipelineRecord } from "../world/records.ts";
import { named } from "./reference.ts";

/** A pipeline as the API shows it (assumed, section 5). */
export function pipelineShape(pipeline: PipelineRecord) {
  return {
    id: pipeline.id,
    name: pipeline.name,
    owner: pipeline.owner,
    generation: named("generation", pipeline.generation),
    created_at: isoTime(pipeline.createdAt),
    updated_at: isoTime(pipeline.createdAt),
  };
}

/** An app's place in a pipeline as the API shows it. */
export function couplingShape(coupling: CouplingRecord) {
  return {
    id: coupling.id,
    app: { id: coupling.appId },
    pipeline: { id: coupling.pipelineId },
    stage: coupling.stage,
    created_at: isoTime(coupling.createdAt),
    updated_at: isoTime(coupling.createdAt),
  };
}
