import { type AddonManifest, exampleOptions } from "../../addon-manifest.ts";
import type { AppRecord } from "../../world/records.ts";
import { appAt } from "./addresses.ts";
import { CardsField, ChoiceField, TextField } from "./fields.tsx";
import { FormOf } from "./form-of.tsx";
import type { View } from "./page.ts";
import { priceText, Section } from "./parts.tsx";
import { regionsOf } from "./regions.ts";

/** The options that the manifest has: "retention: how long messages are kept (1d, 7d)." */
function optionsText(manifest: AddonManifest | null): string[] {
  const { properties = {}, required = [] } = manifest?.options ?? {};
  return Object.entries(properties).map(([name, { description, enum: values }]) => {
    const must = required.includes(name) && "required";
    const remarks = [must, values?.join(", ")].filter(Boolean).join("; ");
    return `${name}${description ? `: ${description}` : ""}${remarks && ` (${remarks})`}.`;
  });
}

/** The form for installing the add-on on an app: its plan, and the customer's other choices. */
export function Install({ view: { platform, attempt }, app }: { view: View; app: AppRecord }) {
  const { world } = platform;
  const { addonManifest, addonId } = world.settings;
  const plans = addonManifest?.plans ?? [];
  const cards = plans.map(({ name, description, price }) => ({
    value: name,
    title: name,
    text: description,
    remark: priceText(price),
  }));
  const initial = addonManifest?.default_plan ?? plans[0]?.name ?? "basic";
  const regions = regionsOf(world).map((name) => [name, name] as [string, string]);
  return (
    <Section title={`Install ${addonManifest?.name ?? addonId}`} id="install-panel">
      <FormOf form="install" action={`${appAt(app.name)}/install`} attempt={attempt} button="Install">
        {plans.length > 0 ? (
          <CardsField name="plan" label="Plan" cards={cards} initial={initial} />
        ) : (
          <TextField name="plan" label="Plan" initial={initial} />
        )}
        <details class="more" open={attempt?.form === "install"}>
          <summary>Options, region, name</summary>
          <TextField
            name="options"
            label="Options"
            rows={2}
            initial={Object.entries(exampleOptions(addonManifest))
              .map((pair) => pair.join("="))
              .join("\n")}
            placeholder="colour=blue"
            hint={[
              "One NAME=VALUE per line, sent to your service unchanged.",
              ...optionsText(addonManifest),
            ].join(" ")}
          />
          <ChoiceField
            name="region"
            label="Region"
            choices={[["", `the app's own, ${app.region}`], ...regions]}
          />
          <TextField
            name="as"
            label="Attached as"
            placeholder="SPARE"
            hint="Empty: a name made from the add-on's."
          />
        </details>
      </FormOf>
    </Section>
  );
}
