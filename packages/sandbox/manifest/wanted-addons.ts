import { isAttachmentName } from "../world/attachment-names.ts";
import { attachmentName, takeName } from "./attachment-name.ts";
import type { Manifest } from "./manifest.ts";

/** One add-on of a manifest. */
export interface WantedAddon {
  service: string;
  /** As in the manifest; null: the service's default plan. */
  plan: string | null;
  /** The attachment's name, unique within the new app. */
  as: string;
  options: Record<string, unknown>;
}

/**
 * The add-ons of a manifest, which have three forms, each with a unique attachment name. `defaultNameOf`: the name of an
 * add-on that asks for none.
 */
export function wantedAddons(
  { addons = [] }: Manifest,
  defaultNameOf: (service: string) => string = (service) => service,
): WantedAddon[] {
  const entries = addons.map((addon) => (typeof addon === "string" ? { plan: addon } : addon));
  const wishes = entries.map(({ as = "" }) => attachmentName(as));
  const taken = new Set(wishes.filter(isAttachmentName));
  return entries.map(({ plan: text, options = {} }, index) => {
    const wish = wishes[index]!;
    const [service, plan = null] = withoutFlags(text).split(":") as [string, string?];
    return {
      service,
      plan,
      as: isAttachmentName(wish) ? wish : takeName(wish || defaultNameOf(service), taken),
      options,
    };
  });
}

/** addon or addon:plan, without the command-line flags that some authors put after it. */
function withoutFlags(text: string): string {
  return text.split(" ", 1)[0]!;
}
