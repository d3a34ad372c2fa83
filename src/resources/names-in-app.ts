import { type Offer, prefixOf } from "../offer.ts";
import type { Addon, Attachment } from "../platform/types.ts";

// An app has an add-on's config vars under names that begin with the attachment's: attached as EVENTS, the declared SHOP_URL is
// EVENTS_URL there (assumed, section 5). Calls and answers have the declared names; sentences have those of the app.

type Names = Pick<Offer, "configVars">;

/** The name that a declared config var has in an app. `attachedAs`: as {@link attachedAsIn} returns it. */
export function nameInApp(offer: Names, attachedAs: string | null, declared: string): string {
  const prefix = prefixOf(offer);
  const isOther = attachedAs !== null && prefix !== "" && declared.startsWith(`${prefix}_`);
  return isOther ? attachedAs + declared.slice(prefix.length) : declared;
}

/** The names that the config vars of an offer have in an app, by their declared names. */
export const namesInApp = (offer: Names, attachedAs: string | null): Record<string, string> =>
  Object.fromEntries(offer.configVars.map((declared) => [declared, nameInApp(offer, attachedAs, declared)]));

/** A sentence in which declared config vars have the names of an app. */
export const withNamesInApp = (offer: Names, attachedAs: string | null, sentence: string): string =>
  attachedAs === null ? sentence : withNamesOf(varsInApp(offer, attachedAs, {}), sentence);

/** As {@link withNamesInApp}, with the config vars that {@link varsInApp} returns. */
export const withNamesOf = (vars: Readonly<Record<string, { name: string }>>, sentence: string): string =>
  sentence.replace(/\w+/g, (word) => (Object.hasOwn(vars, word) ? vars[word]!.name : word));

/**
 * The attachment's name that begins the config vars of the app on which an add-on was installed; null if they have their
 * declared names there. The names that the platform shows decide. Before any are set, an attachment that is named neither
 * like the declared prefix nor like the service counts.
 */
export function attachedAsIn(
  offer: Names,
  addonId: string,
  addon: Pick<Addon, "app" | "config_vars">,
  attachments: readonly Pick<Attachment, "name" | "app">[],
): string | null {
  const there = Array.isArray(addon.config_vars) ? addon.config_vars : [];
  const names = attachments.filter(({ app }) => app?.id === addon.app.id).map(({ name }) => name);
  if (offer.configVars.some((declared) => there.includes(declared))) return null;
  const isShown = (name: string) =>
    offer.configVars.some((declared) => there.includes(nameInApp(offer, name, declared)));
  const usual = [prefixOf(offer), addonId.toUpperCase().replace(/\W/g, "_")];
  const decided = there.length > 0 ? names.find(isShown) : names.find((name) => !usual.includes(name));
  return decided ?? null;
}

/** The config vars of an offer as an app has them, by their declared names. `values`: of those that may be shown. */
export function varsInApp(
  offer: Names,
  attachedAs: string | null,
  values: Readonly<Record<string, string>>,
): Record<string, { name: string; value: string | null }> {
  const vars = offer.configVars.map((declared) => {
    const value = Object.hasOwn(values, declared) ? values[declared]! : null;
    return [declared, { name: nameInApp(offer, attachedAs, declared), value }] as const;
  });
  return Object.fromEntries(vars);
}
