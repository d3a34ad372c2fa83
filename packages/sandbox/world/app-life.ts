import type { AddonRecord, AppRecord, AppStepRecord } from "./records.ts";
import type { World } from "./world.ts";

/** Records a step of the app's setup. */
export function noteStep(
  world: World,
  { setup }: AppRecord,
  step: AppStepRecord["step"],
  detail: Record<string, string> = {},
): void {
  setup?.steps.push({ step, at: world.clock.now(), detail });
}

/**
 * Deploys a new app once the last of its add-ons is provisioned ("Provisioned before deploy"), and then runs its
 * postdeploy script, only this once. An add-on that fails before that makes the setup fail.
 */
export function goOnWithSetup(world: World, app: AppRecord): void {
  const { setup } = app;
  if (setup?.state !== "waiting") return;
  const states = setupAddons(world, app).map(({ state }) => state);
  if (states.some((state) => state === "deprovisioned" || state === "deprovisioning")) setup.state = "failed";
  if (setup.state === "failed" || states.includes("provisioning")) return;
  setup.state = "deployed";
  noteStep(world, app, "deploy");
  runScript(world, app, "postdeploy");
}

/** Scripts are recorded, not run, since there is no real app. */
export function runScript(world: World, app: AppRecord, script: "postdeploy" | "pr-predestroy"): void {
  const found = app.setup?.scripts[script];
  if (found) noteStep(world, app, script, { ...found });
}

/** Destroys an app with everything that belongs to it except its add-ons; its name becomes free at once. */
export function destroyApp(world: World, app: AppRecord): void {
  noteStep(world, app, "destroy");
  const pipelines = world.couplings
    .of("app", app.id)
    .map(({ pipelineId }) => world.pipelines.get(pipelineId)!);
  for (const table of [
    world.collaborators,
    world.domains,
    world.couplings,
    world.logDrains,
    world.attachments,
  ]) {
    for (const row of table.of("app", app.id)) table.remove(row as never);
  }
  for (const pipeline of pipelines) {
    if (world.couplings.count("pipeline", pipeline.id) === 0) world.pipelines.remove(pipeline);
  }
  world.apps.rename(app, () => (app.destroyedAt = world.clock.now()));
}

/** The add-ons that the manifest asked for, which are recorded as steps; those installed by hand are not. */
function setupAddons(world: World, app: AppRecord): AddonRecord[] {
  const noted = (app.setup?.steps ?? []).filter(({ step }) => step === "addon");
  return noted.flatMap(({ detail }) => world.addons.get(detail["id"] ?? "") ?? []);
}
