import { resolveSuccessUrl } from "../manifest/success-url.ts";
import { appShape } from "../shapes/app.ts";
import { configVarsOf } from "../world/attachments.ts";
import type { AppRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

/** An app with the result of its manifest; of config vars only the names. */
export function appReport(world: World, app: AppRecord) {
  const shape = appShape(world, app);
  return {
    ...shape,
    config_vars: Object.keys(configVarsOf(world, app)),
    addons: world.addons
      .of("app", app.id)
      .map(({ id, name, plan, state, options }) => ({ id, name, plan, state, options })),
    destroyed_at: app.destroyedAt === undefined ? null : timestamp(app.destroyedAt),
    setup: app.setup ? setupReport(app.setup, shape.web_url) : null,
  };
}

function setupReport(setup: NonNullable<AppRecord["setup"]>, webUrl: string) {
  return {
    state: setup.state,
    environment: setup.environment,
    ...setup.about,
    success_url: resolveSuccessUrl(setup.successUrl, webUrl),
    formation: setup.formation,
    buildpacks: setup.buildpacks,
    /** The last buildpack determines the process types. */
    process_types_from: setup.buildpacks.at(-1) ?? null,
    scripts: setup.scripts,
    foreign_addons: setup.foreignAddons.map(({ configVars, ...addon }) => ({
      ...addon,
      config_vars: configVars,
    })),
    warnings: setup.warnings,
    steps: setup.steps.map(({ step, at, detail }) => ({ step, at: timestamp(at), ...detail })),
  };
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
