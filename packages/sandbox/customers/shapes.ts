import type { Request } from "express";
import type { AddonPlan } from "../addon-manifest.ts";
import type { Platform } from "../platform.ts";
import { addonShape } from "../shapes/addon.ts";
import { appShape } from "../shapes/app.ts";
import { attachmentShape } from "../shapes/attachment.ts";
import { couplingShape } from "../shapes/pipeline.ts";
import { named, reference } from "../shapes/reference.ts";
import { nameInApp } from "../world/attachment-names.ts";
import { isoTime } from "../world/clock.ts";
import type { AddonRecord, AppRecord, AttachmentRecord, CouplingRecord } from "../world/records.ts";
import { releasesOf } from "../world/releases.ts";
import type { World } from "../world/world.ts";

/** Of what nobody creates here: the service and its plans. */
const SINCE = isoTime(Date.UTC(2020, 0));

/** The add-on service as its customers see it. */
export function serviceShape({ settings }: World) {
  return {
    ...named("service", settings.addonId),
    human_name: settings.addonManifest?.name ?? settings.addonId,
    cli_plugin_name: null,
    state: "ga",
    supports_multiple_installations: true,
    supports_sharing: true,
    created_at: SINCE,
    updated_at: SINCE,
  };
}

/** The plans on sale. Without a manifest there is only the default one. */
export function plansOf({ settings }: World): AddonPlan[] {
  return settings.addonManifest?.plans ?? [{ name: "basic" }];
}

/** A plan with its price. A plan whose manifest has no price is free: so is an add-on that is not on sale yet. */
export function planShape(world: World, { name, description = "", price }: AddonPlan) {
  const { addonId, addonManifest } = world.settings;
  return {
    ...named("plan", `${addonId}:${name}`),
    addon_service: named("service", addonId),
    human_name: name[0]!.toUpperCase() + name.slice(1),
    description,
    default: name === (addonManifest?.default_plan ?? plansOf(world)[0]?.name),
    price: {
      cents: price?.cents ?? 0,
      contract: false,
      unit: price?.unit ?? "month",
      ...(price?.metered !== undefined && { metered: true }),
    },
    visible: true,
    state: "ga",
    created_at: SINCE,
    updated_at: SINCE,
  };
}

/**
 * An add-on as its customers see it: with its price and the address from which they come to the service. The header
 * `Accept-Expansion` names what is shown whole, `plan` and `addon_service`.
 */
export function customersAddonShape(platform: Platform, addon: AddonRecord, req: Request) {
  const { world } = platform;
  const shape = addonShape(world, addon);
  const plan = planShape(
    world,
    plansOf(world).find(({ name }) => name === addon.plan) ?? { name: addon.plan },
  );
  const { cents, contract, unit } = plan.price;
  const wanted = wordsIn(req.headers["accept-expansion"]);
  return {
    ...shape,
    billed_price: { cents, contract, unit },
    plan: wanted.includes("plan") ? plan : shape.plan,
    addon_service: wanted.includes("addon_service") ? serviceShape(world) : shape.addon_service,
    web_url: signOnAddress(platform, addon, shape.app.name),
  };
}

/** An attachment as customers see it. `Accept-Inclusion` asks for the add-on's plan and the names of the config vars. */
export function customersAttachmentShape(platform: Platform, attachment: AttachmentRecord, req: Request) {
  const { world } = platform;
  const addon = world.addons.get(attachment.addonId)!;
  const shape = attachmentShape(world, attachment);
  const wanted = wordsIn(req.headers["accept-inclusion"]);
  const plan = named("plan", `${world.settings.addonId}:${addon.plan}`);
  const names = Object.keys(addon.config).map((name) => nameInApp(world, attachment.name, name));
  return {
    ...shape,
    addon: wanted.includes("addon:plan") ? { ...shape.addon, plan } : shape.addon,
    ...(wanted.includes("config_vars") && { config_vars: names }),
    web_url: signOnAddress(platform, addon, shape.app.name),
  };
}

/** An app as its customers see it: whether it has been made, too. */
export function customersAppShape(world: World, app: AppRecord) {
  return { ...appShape(world, app), create_status: "complete" };
}

/** An app's place in a pipeline, with the pipeline's name, which tools show. */
export function customersCouplingShape(world: World, coupling: CouplingRecord) {
  return { ...couplingShape(coupling), pipeline: reference(world.pipelines.get(coupling.pipelineId)!) };
}

/** The releases of an app, which tools show after a change. */
export function releaseShapes(world: World, app: AppRecord) {
  const owner = world.users.get(app.ownerId)!;
  return releasesOf(app).map(({ version, description, at }) => ({
    ...named("release", `${app.id} ${version}`),
    version,
    description,
    status: "succeeded",
    current: version === releasesOf(app).at(-1)!.version,
    app: reference(app),
    user: { id: owner.id, email: owner.email },
    slug: null,
    created_at: isoTime(at),
    updated_at: isoTime(at),
  }));
}

/** The page that posts the signed form to the service, for a customer who comes from this app. */
function signOnAddress(platform: Platform, { name }: AddonRecord, app: string): string {
  return `${platform.publicUrl()}/marketplace/addons/${encodeURIComponent(name)}/sign-on?at-once&app=${app}`;
}

function wordsIn(header: string | string[] | undefined): string[] {
  return String(header ?? "")
    .split(",")
    .map((word) => word.trim());
}
