import { choosePlan } from "../control/plans.ts";
import { invalid } from "../refusal.ts";
import type { SandboxSettings } from "../settings.ts";
import { defaultName } from "../world/attachment-names.ts";
import type { AppSetupRecord, ForeignAddonRecord, ScriptRecord } from "../world/records.ts";
import { firstConfigVars } from "./config-vars.ts";
import { foreignAddon } from "./foreign-addon.ts";
import { type Environment, type Manifest, manifestFor, readManifest, type Script } from "./manifest.ts";
import { type WantedAddon, wantedAddons } from "./wanted-addons.ts";
import { warningsOf } from "./warnings.ts";

const DEFAULT_SIZE = "standard";

export interface ManifestWish {
  manifest: unknown;
  environment: Environment | null;
  /** Values of config vars that a person fills into the form. */
  env: Record<string, string>;
  isNewerGeneration: boolean;
}

/** Everything that a manifest requires of a new app, decided before any of it is made. */
export interface AppPlan {
  configVars: Record<string, string>;
  setup: AppSetupRecord;
  /** Add-ons of the partner, each with a bare plan that exists. */
  addons: (WantedAddon & { plan: string })[];
}

/** Reads a manifest as the platform does for a new app. Throws if the app cannot be made from it. */
export function planApp(settings: SandboxSettings, wish: ManifestWish): AppPlan {
  const { environment } = wish;
  const manifest = manifestFor(readManifest(wish.manifest), environment);
  checkBuildpacks(manifest, wish.isNewerGeneration);
  const nameOf = (service: string) => (service === settings.addonId ? defaultName({ settings }) : service);
  const wanted = wantedAddons(manifest, nameOf);
  const isOurs = ({ service }: WantedAddon) => service === settings.addonId;
  const foreign = wanted.filter((addon) => !isOurs(addon)).map((addon) => foreignAddon(addon, environment));
  const ownVars = firstConfigVars(manifest.env, wish.env);
  return {
    configVars: Object.assign({}, ownVars, ...foreign.map(({ config }) => config)) as Record<string, string>,
    setup: setupOf(manifest, environment, foreign),
    addons: wanted
      .filter(isOurs)
      .map((addon) => ({ ...addon, plan: choosePlan(settings, addon.plan ?? undefined, { environment }) })),
  };
}

function setupOf(
  manifest: Manifest,
  environment: Environment | null,
  foreign: { addon: ForeignAddonRecord }[],
): AppSetupRecord {
  const { name, description, keywords, website, repository, logo } = manifest;
  return {
    state: "creating",
    environment,
    about: { name, description, keywords, website, repository, logo },
    stack: manifest.stack ?? null,
    successUrl: manifest.success_url ?? null,
    formation: formationOf(manifest),
    buildpacks: (manifest.buildpacks ?? []).map(({ url }) => url),
    scripts: scriptsOf(manifest),
    foreignAddons: foreign.map(({ addon }) => addon),
    warnings: warningsOf(manifest),
    steps: [],
  };
}

/** Without a formation, one `web` process runs. */
function formationOf({ formation = { web: {} } }: Manifest): AppSetupRecord["formation"] {
  return Object.entries(formation).map(([type, { quantity = 1, size = DEFAULT_SIZE }]) => ({
    type,
    quantity,
    size,
  }));
}

/** The scripts with a command; an empty command runs nothing. */
function scriptsOf({ scripts = {} }: Manifest): AppSetupRecord["scripts"] {
  const { postdeploy, "pr-predestroy": predestroy } = scripts;
  const found = Object.entries({ postdeploy, "pr-predestroy": predestroy }).map(
    ([name, script = ""]) => [name, scriptOf(script)] as const,
  );
  return Object.fromEntries(found.filter(([, { command }]) => command.trim() !== ""));
}

function scriptOf(script: string | Script): ScriptRecord {
  const { command, size = DEFAULT_SIZE } = typeof script === "string" ? { command: script } : script;
  return { command, size };
}

/** "Supported for older-generation apps only; newer-generation apps set buildpacks through `project.toml`." */
function checkBuildpacks({ buildpacks = [] }: Manifest, isNewerGeneration: boolean): void {
  if (isNewerGeneration && buildpacks.length > 0) {
    throw invalid(
      "The app manifest cannot be used. /buildpacks is for apps of the older generation; this one sets them in project.toml.",
    );
  }
}
