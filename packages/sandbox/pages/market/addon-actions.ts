import { findAddon } from "../../control/find.ts";
import { addonPage } from "./addon-page.tsx";
import { addonAt, appAt, MARKET } from "./addresses.ts";
import { deliveryNotice, patiently } from "./delivery-notice.ts";
import { FieldRefused, filled } from "./form.ts";
import type { Action } from "./page.ts";
import { signOnPage } from "./sign-on-page.tsx";

const ADDON = `${MARKET}/addons/:id`;
const onItsPage = { page: addonPage, at: addonAt };

/** Actions on an add-on. */
export const addonActions: Action[] = [
  {
    ...onItsPage,
    path: `${ADDON}/plan`,
    form: "plan",
    blame: { plan: /plan/ },
    async act({ control }, form, id) {
      const { plan } = filled(form, "plan");
      if (plan === undefined) throw new FieldRefused("plan", "Choose a plan.");
      const told = deliveryNotice(`Plan change to ${plan}`, await patiently(control.changePlan(id, plan)));
      return { to: addonAt(id), told };
    },
  },
  {
    ...onItsPage,
    path: `${ADDON}/attach`,
    form: "attach",
    blame: { as: /^(An attachment|The app already)/, app: /^There is no app/ },
    act({ control }, form, id) {
      const { app, as } = filled(form, "app", "as");
      if (app === undefined) throw new FieldRefused("app", "Choose an app.");
      const { name } = control.attach(id, { app, ...(as && { name: as }) });
      const text = `Attached to ${app} as ${name}. The app has its config vars too. Your service is not notified.`;
      return { to: addonAt(id), told: { text } };
    },
  },
  {
    ...onItsPage,
    path: `${ADDON}/redeliver`,
    form: "redeliver",
    async act({ control, platform }, form, id) {
      // The add-on is looked up first: otherwise, for an unknown one, the fault would stay and hit another call.
      const addon = findAddon(platform.world, id);
      if (form["fault"] === "lost")
        control.fault(`> POST ${platform.world.settings.resourcesPath}`, { reset: "after" });
      const delivery = control.redeliver(addon.id, { newCode: form["code"] === "new" });
      return { to: addonAt(id), told: deliveryNotice("Repeated provision", await patiently(delivery)) };
    },
  },
  {
    ...onItsPage,
    path: `${ADDON}/revoke`,
    form: "revoke",
    blame: { token: /grant|token/ },
    act({ control }, form, id) {
      const { token } = filled(form, "token");
      if (token !== "access" && token !== "refresh")
        throw new FieldRefused("token", "Choose one of the two tokens.");
      control.revoke(id, token);
      return {
        to: addonAt(id),
        told: { text: `The ${token} token is revoked. Your service notices when it next uses it.` },
      };
    },
  },
  {
    ...onItsPage,
    path: `${ADDON}/uninstall`,
    form: "uninstall",
    async act({ control, platform }, _form, id) {
      const delivery = await patiently(control.deprovision(id));
      const app = platform.world.apps.get(findAddon(platform.world, id).appId)!;
      const isGone = delivery?.addon.state === "deprovisioned" && app.destroyedAt === undefined;
      return { to: isGone ? appAt(app.name) : addonAt(id), told: deliveryNotice("Deprovision", delivery) };
    },
  },
  {
    path: `${ADDON}/sign-on`,
    form: "try-sign-on",
    page: signOnPage,
    at: (id) => `${addonAt(id)}/sign-on`,
    async act({ control }, form, id) {
      const { email } = filled(form, "email");
      return { to: addonAt(id), told: deliveryNotice("Sign-on", await patiently(control.signOn(id, email))) };
    },
  },
];
