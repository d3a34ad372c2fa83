import { nameInApp } from "../../world/attachment-names.ts";
import type { AddonRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { addonAt, appAt, HOME } from "./addresses.ts";
import { ChoiceField, TextField } from "./fields.tsx";
import { FormOf } from "./form-of.tsx";
import type { View } from "./page.ts";
import { Empty, Section } from "./parts.tsx";

/** The apps an add-on is attached to, and the form for attaching it to another. */
export function Attachments({ view: { platform, attempt }, addon }: { view: View; addon: AddonRecord }) {
  const { world } = platform;
  const attachments = world.attachments.of("addon", addon.id);
  const attached = new Set(attachments.map(({ appId }) => appId));
  const others = world.apps
    .all()
    .filter(({ id, destroyedAt }) => destroyedAt === undefined && !attached.has(id));
  return (
    <Section title="Apps it is attached to" id="attachments-panel">
      <div id="attachments" data-live="">
        {attachments.length === 0 ? (
          <Empty>None.</Empty>
        ) : (
          <ul class="vars">
            {attachments.map(({ id, name, appId }) => (
              <li id={`attachment-${id}`}>
                <a href={appAt(world.apps.get(appId)!.name)}>{world.apps.get(appId)!.name}</a>{" "}
                <code>{name}</code>
                {varsOf(world, addon, name).length > 0 && (
                  <small>{varsOf(world, addon, name).join(", ")}</small>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
      {addon.state !== "deprovisioned" &&
        (others.length === 0 ? (
          <p class="hint">
            To attach it to another app, <a href={`${HOME}#create`}>create one</a> first.
          </p>
        ) : (
          <FormOf
            form="attach"
            action={`${addonAt(addon.name)}/attach`}
            attempt={attempt}
            button="Attach"
            look="secondary"
          >
            <div class="pair">
              <ChoiceField name="app" label="Attach it to" choices={others.map(({ name }) => [name, name])} />
              <TextField name="as" label="As" placeholder="GADGET" />
            </div>
            <p class="hint">The name takes the place of the prefix in the names of its config vars.</p>
          </FormOf>
        ))}
    </Section>
  );
}

/** The names of its config vars in an app where it is attached under this name. */
const varsOf = (world: World, { config }: AddonRecord, attachment: string) =>
  Object.keys(config).map((name) => nameInApp(world, attachment, name));
