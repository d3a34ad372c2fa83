import type { Finding } from "../finding.ts";
import type { Manifest } from "../schema.ts";
import { attachmentNames, ephemeralPlans, flags, options, stringForm } from "./addons.ts";
import { logo, repository, successUrl, website } from "./addresses.ts";
import { buildpacks, image } from "./build.ts";
import { billedProcesses, sizes } from "./dynos.ts";
import type { Rule } from "./rule.ts";
import { billedScripts, emptyScripts } from "./scripts.ts";
import { sources } from "./variables.ts";

const OF_APPS: readonly Rule[] = [
  ...[website, repository, logo, successUrl, image, sources, billedProcesses, sizes],
  ...[stringForm, attachmentNames, options, flags, buildpacks, billedScripts, emptyScripts],
];
const OF_ENVIRONMENTS: readonly Rule[] = [...OF_APPS, ephemeralPlans];

/** Warnings about what no rule forbids: what is deprecated, billed, without effect, or better written otherwise. */
export function advice(manifest: Manifest): Finding[] {
  const { environments = {}, ...app } = manifest;
  const ofApp = OF_APPS.flatMap((rule) => rule(app));
  const ofEnvironments = Object.entries(environments).flatMap(([name, keys]) =>
    OF_ENVIRONMENTS.flatMap((rule) => rule(keys ?? {})).map((each) => ({
      ...each,
      path: ["environments", name, ...each.path],
    })),
  );
  const all = [...ofApp, ...ofEnvironments];
  return all
    .filter(
      ({ message, isSaidOnce }, index) =>
        !isSaidOnce || all.findIndex((other) => other.message === message) === index,
    )
    .map(({ path, message }) => ({ path, severity: "warning", message }));
}
