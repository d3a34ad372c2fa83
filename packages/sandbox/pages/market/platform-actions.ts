import { PLATFORM } from "./addresses.ts";
import { faultCalls, faultKinds } from "./fault-choices.ts";
import { FieldRefused, filled, numberIn } from "./form.ts";
import type { Action } from "./page.ts";
import { platformPage } from "./platform-page.tsx";

const onItsPage = { page: platformPage, at: () => PLATFORM };

/** Actions on the platform itself. */
export const platformActions: Action[] = [
  {
    ...onItsPage,
    path: `${PLATFORM}/clock`,
    form: "clock",
    blame: { hours: /^advance/ },
    act({ control }, form) {
      const hours = numberIn(form, "hours");
      const { now } = control.advanceClock(hours * 3600);
      const text = `The platform's clock is now at ${now.replace("T", " ").slice(0, 16)} UTC.`;
      return { to: PLATFORM, told: { text } };
    },
  },
  {
    ...onItsPage,
    path: `${PLATFORM}/client-secret`,
    form: "secret",
    act({ control }) {
      const { secret } = control.resetClientSecret();
      const text =
        "The client secret was reset. Give the new one to your service now (with this kit: kit secret set).";
      return { to: PLATFORM, told: { text, secret } };
    },
  },
  {
    ...onItsPage,
    path: `${PLATFORM}/faults`,
    form: "fault",
    blame: { times: /^times/, call: /^match/ },
    act({ control, platform }, form) {
      const call = faultCalls(platform.world.settings).find(({ match }) => match === form["call"]);
      const kind = Object.hasOwn(faultKinds, form["kind"] ?? "") ? faultKinds[form["kind"]!] : undefined;
      if (!call) throw new FieldRefused("call", "Choose one of these calls.");
      if (!kind) throw new FieldRefused("kind", "Choose one of these faults.");
      control.fault(call.match, kind.action, numberIn(form, "times"));
      return { to: PLATFORM, told: { text: `Fault added: when ${call.text}, ${kind.text}.` } };
    },
  },
  {
    ...onItsPage,
    path: `${PLATFORM}/faults/clear`,
    form: "clear-faults",
    act({ control }) {
      control.clearFaults();
      return { to: PLATFORM, told: { text: "All faults were removed." } };
    },
  },
  {
    ...onItsPage,
    path: `${PLATFORM}/incidents`,
    form: "incident",
    blame: { title: /^title/, kind: /^kind/, contents: /^contents/ },
    act({ control }, form) {
      const { system = "Apps", ...wish } = filled(form, "title", "contents", "kind", "system");
      if (wish.title === undefined) throw new FieldRefused("title", "Enter a title.");
      const { id, title } = control.openIncident({ ...(wish as { title: string }), systems: [system] });
      return { to: PLATFORM, told: { text: `Posted as ${id}: ${title}.` } };
    },
  },
  {
    ...onItsPage,
    path: `${PLATFORM}/incidents/:id/resolve`,
    form: "resolve-:id",
    act({ control }, _form, id) {
      const { title } = control.resolveIncident(id);
      return { to: PLATFORM, told: { text: `Resolved: ${title}.` } };
    },
  },
  {
    ...onItsPage,
    path: `${PLATFORM}/reset`,
    form: "reset",
    act({ control }) {
      control.reset();
      return { to: PLATFORM, told: { text: "Everything was reset. Create an app first." } };
    },
  },
];
