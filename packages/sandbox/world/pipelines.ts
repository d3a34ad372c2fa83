import { randomUUID } from "node:crypto";
import { invalid } from "../refusal.ts";
import { newName } from "./identity.ts";
import type { AppRecord, CouplingRecord, PipelineRecord } from "./records.ts";
import type { World } from "./world.ts";

export interface PipelineWish {
  /** The name of a pipeline, which is created if it is new. Without a name the app gets a pipeline of its own. */
  pipeline?: string;
  /** `production` if absent. */
  stage?: string;
}

type Owner = PipelineRecord["owner"];

const stages = ["test", "review", "development", "staging", "production"];
const PIPELINE_NAME = /^[a-z][a-z0-9-]{2,29}$/;

/** Throws when an app of this owner and generation cannot join the pipeline: all apps of a pipeline share both. */
export function checkPipelineWish(
  world: World,
  { pipeline: name, stage }: PipelineWish,
  { owner, generation }: { owner: Owner; generation: string },
): void {
  if (stage !== undefined && !stages.includes(stage)) {
    throw invalid(`There is no stage ${stage}; there are ${stages.join(", ")}.`);
  }
  if (name === undefined) return;
  if (!PIPELINE_NAME.test(name)) throw invalid("A pipeline's name has 3 to 30 characters a-z, 0-9, -.");
  const pipeline = world.pipelines.find(name);
  if (pipeline && pipeline.owner.id !== owner.id) throw invalid(`The pipeline ${name} has another owner.`);
  if (pipeline && pipeline.generation !== generation) {
    throw invalid(`The pipeline ${name} takes apps of the ${pipeline.generation} generation only.`);
  }
}

/** Puts a new app into the pipeline that it asks for. */
export function joinPipeline(
  world: World,
  app: AppRecord,
  owner: Owner,
  { pipeline: name, stage = "production" }: PipelineWish,
): CouplingRecord {
  const { id: appId, createdAt, generation } = app;
  const isTaken = (taken: string) => world.pipelines.find(taken) !== undefined;
  const ownName = isTaken(app.name) ? newName("pipeline", isTaken) : app.name;
  const pipeline =
    (name === undefined ? undefined : world.pipelines.find(name)) ??
    world.pipelines.add({ id: randomUUID(), name: name ?? ownName, owner, generation, createdAt });
  return world.couplings.add({
    id: randomUUID(),
    appId,
    pipelineId: pipeline.id,
    stage: stage as CouplingRecord["stage"],
    createdAt,
  });
}
