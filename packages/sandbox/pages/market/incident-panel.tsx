import { currentStatus } from "../../status/current-status.ts";
import { PLATFORM } from "./addresses.ts";
import { ChoiceField, TextField } from "./fields.tsx";
import { ButtonForm, FormOf } from "./form-of.tsx";
import type { View } from "./page.ts";
import { Facts, Section, State } from "./parts.tsx";

/** The content of the status feed, and the form for posting to it. */
export function Incidents({ view: { platform, attempt } }: { view: View }) {
  const { status, incidents, scheduled } = currentStatus(platform);
  return (
    <Section
      title="Status and incidents"
      id="incidents-panel"
      intro="The content of the platform's status feed, which your service reads."
    >
      <div id="incidents" data-live="">
        <Facts of={status.map(({ system, status: colour }) => [system, <State of={colour} />] as const)} />
        {[...incidents, ...scheduled].map(({ id, title, state }) => (
          <div class="incident">
            <p>
              <a href={`/incidents/${id}`}>{title}</a> <State of={state} />
            </p>
            <ButtonForm
              form={`resolve-${id}`}
              action={`${PLATFORM}/incidents/${id}/resolve`}
              attempt={attempt}
              button="Resolve"
              look="secondary outline"
            />
          </div>
        ))}
      </div>
      <FormOf
        form="incident"
        action={`${PLATFORM}/incidents`}
        attempt={attempt}
        button="Post to the feed"
        look="secondary"
      >
        <TextField name="title" label="Title" placeholder="Config changes are slow" />
        <TextField name="contents" label="Text of the update" rows={2} />
        <div class="pair">
          <ChoiceField
            name="kind"
            label="Kind"
            choices={[
              ["incident", "an incident"],
              ["maintenance", "a maintenance"],
            ]}
          />
          <ChoiceField
            name="system"
            label="System"
            choices={["Apps", "Data", "Tools"].map((name) => [name, name])}
          />
        </div>
      </FormOf>
    </Section>
  );
}
