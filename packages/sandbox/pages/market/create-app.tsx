import { MARKET } from "./addresses.ts";
import { ChoiceField, FileField, TextField } from "./fields.tsx";
import { FormOf } from "./form-of.tsx";
import type { View } from "./page.ts";
import { Section } from "./parts.tsx";
import { regionsOf } from "./regions.ts";

const generations: [string, string][] = [
  ["older", "older"],
  ["newer", "newer"],
];

/** The fields in the folded part: if a refused form had any of these filled in, it is shown open. */
const FOLDED = ["manifest", "env", "environment"];

/** A new app, by hand or from an `app.json`. */
export function CreateApp({ view: { platform, attempt } }: { view: View }) {
  const isFilled =
    attempt?.form === "create-app" && FOLDED.some((name) => (attempt.values[name] ?? "") !== "");
  return (
    <Section title="Create an app" id="create">
      <FormOf form="create-app" action={`${MARKET}/apps`} attempt={attempt} button="Create the app" hasFile>
        <TextField name="name" label="Name" placeholder="shop" hint="Empty: a name is generated." />
        <div class="pair">
          <ChoiceField
            name="region"
            label="Region"
            choices={regionsOf(platform.world).map((name) => [name, name])}
          />
          <ChoiceField name="generation" label="Generation" choices={generations} initial="older" />
        </div>
        <TextField name="team" label="Team" hint="Empty: the app is your own. An unknown team is created." />
        <details class="more" open={isFilled}>
          <summary>From an app.json</summary>
          <TextField
            name="manifest"
            label="Content"
            rows={6}
            placeholder={'{ "addons": ["postgresql:small"] }'}
            hint="Config vars, add-ons and scripts are all processed, or the app is not created."
          />
          <FileField name="file" label="Or as a file" accept=".json,application/json" />
          <TextField
            name="env"
            label="Values of its config vars"
            rows={2}
            placeholder="GREETING=hello"
            hint="One per line, for the vars that the app.json requires without a value."
          />
          <ChoiceField
            name="environment"
            label="Kind"
            choices={[
              ["", "a permanent app"],
              ["review", "a review app"],
              ["test", "a test app"],
            ]}
          />
        </details>
      </FormOf>
    </Section>
  );
}
