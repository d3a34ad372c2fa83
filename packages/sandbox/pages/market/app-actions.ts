import { checkAppWish } from "../../control/app-wish.ts";
import { findApp } from "../../control/find.ts";
import { isObject } from "../../is-object.ts";
import { isTooDeep } from "../../wire/body.ts";
import { addonAt, appAt, HOME, MARKET } from "./addresses.ts";
import { appPage } from "./app-page.tsx";
import { deliveryNotice, patiently } from "./delivery-notice.ts";
import { FieldRefused, filled, type Form, pairsIn } from "./form.ts";
import { homePage } from "./home-page.tsx";
import type { Action } from "./page.ts";

/** Actions on apps. */
export const appActions: Action[] = [
  {
    path: `${MARKET}/apps`,
    form: "create-app",
    page: homePage,
    at: () => HOME,
    blame: {
      name: /^(Name|The name) /,
      team: /^A team/,
      region: /^(There is no region|region)/,
      generation: /^There is no generation/,
      environment: /^environment:/,
      env: /^(Required config vars|env:)/,
      manifest: /manifest|add-on/,
    },
    async act({ control }, form) {
      const manifest = manifestIn(form);
      const env = pairsIn(form, "env");
      const wish = checkAppWish({
        ...filled(form, "name", "team", "region", "generation", "environment"),
        ...(manifest && { manifest }),
        ...(Object.keys(env).length > 0 && { env }),
      });
      const isPlain = !manifest && !wish.environment && !wish.env;
      const { name } = isPlain ? control.createApp(wish) : await control.createAppFromManifest(wish);
      return { to: appAt(name), told: { text: `The app ${name} was created. Install the add-on on it.` } };
    },
  },
  {
    path: `${MARKET}/apps/:id/install`,
    form: "install",
    page: appPage,
    at: appAt,
    blame: { plan: /plan/, as: /^(as:|An attachment|The app already)/ },
    async act({ control, platform }, form, app) {
      const options = pairsIn(form, "options");
      const wish = { app, ...filled(form, "plan", "region", "as"), options };
      const delivery = await patiently(control.install(wish));
      const told = deliveryNotice("Provision", delivery);
      const { name } = platform.world.addons.of("app", findApp(platform.world, app).id).at(-1)!;
      return { to: addonAt(delivery?.addon.name ?? name), told };
    },
  },
  {
    path: `${MARKET}/apps/:id/deploy`,
    form: "deploy",
    page: appPage,
    at: appAt,
    act({ control }, _form, app) {
      control.deploy(app);
      return { to: appAt(app), told: { text: "Deployed again. The app.json is not read a second time." } };
    },
  },
  {
    path: `${MARKET}/apps/:id/destroy`,
    form: "destroy",
    page: appPage,
    at: appAt,
    async act({ control }, _form, app) {
      await control.destroyApp(app);
      return { to: HOME, told: { text: `The app ${app} and its add-ons were removed.` } };
    },
  },
];

/** The `app.json`, uploaded or pasted; undefined when there is none. */
function manifestIn(form: Form): object | undefined {
  const text = (form["file"] || form["manifest"] || "").trim();
  if (text === "") return undefined;
  // Shown again for correction: a page cannot fill in a file field.
  form["manifest"] = text;
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw new FieldRefused("manifest", `This is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(manifest)) throw new FieldRefused("manifest", "An app.json is a JSON object, in braces.");
  if (isTooDeep(manifest)) throw new FieldRefused("manifest", "It is nested too deeply.");
  return manifest;
}
