import { PLATFORM } from "./addresses.ts";
import { faultCalls, faultKinds } from "./fault-choices.ts";
import { ChoiceField, TextField } from "./fields.tsx";
import { ButtonForm, FormOf } from "./form-of.tsx";
import type { View } from "./page.ts";
import { count, Empty, Section } from "./parts.tsx";

/** The pending faults, and the form for adding one. */
export function Faults({ view: { platform, attempt, control } }: { view: View }) {
  const pending = control.faults();
  return (
    <Section
      title="Faults"
      id="faults-panel"
      intro="The chosen fault affects the next matching calls, and no others."
    >
      <div id="faults" data-live="">
        {pending.length === 0 ? (
          <Empty>No faults: every call and every answer arrives.</Empty>
        ) : (
          <ul class="vars">
            {pending.map(({ match, times, action }) => (
              <li>
                <code>{match}</code>
                <span>
                  {count(times, "time")}: <code>{JSON.stringify(action)}</code>
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <FormOf
        form="fault"
        action={`${PLATFORM}/faults`}
        attempt={attempt}
        button="Add this fault"
        look="secondary"
      >
        <ChoiceField
          name="call"
          label="When"
          choices={faultCalls(platform.world.settings).map(({ match, text }) => [match, text])}
        />
        <ChoiceField
          name="kind"
          label="Then"
          choices={Object.entries(faultKinds).map(([kind, { text }]) => [kind, text])}
        />
        <TextField name="times" label="How often" inputMode="numeric" initial="1" />
      </FormOf>
      {pending.length > 0 && (
        <ButtonForm
          form="clear-faults"
          action={`${PLATFORM}/faults/clear`}
          attempt={attempt}
          button="Remove all faults"
          look="secondary outline"
        />
      )}
    </Section>
  );
}
