import { isoTime } from "../world/clock.ts";
import type { AttachmentRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { reference } from "./reference.ts";

/** An attachment as the API shows it (assumed, section 5). */
export function attachmentShape(world: World, attachment: AttachmentRecord) {
  const addon = world.addons.get(attachment.addonId)!;
  return {
    id: attachment.id,
    name: attachment.name,
    namespace: null,
    addon: { ...reference(addon), app: reference(world.apps.get(addon.appId)!) },
    app: reference(world.apps.get(attachment.appId)!),
    web_url: null,
    log_input_url: null,
    created_at: isoTime(attachment.createdAt),
    updated_at: isoTime(attachment.updatedAt),
  };
}
