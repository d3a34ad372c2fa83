import { MARKET } from "./addresses.ts";
import { ChoiceField, FileField, TextField } from "./fields.tsx";
import { FormOf } from "./form-of.tsx";
import type { View } from "./page.ts";
import { Section } from "./parts.tsx";
import { regionsOf } from "./regions.ts";

const generations: [string, string][] = [
  ["older", "the older"],
  ["newer", "the newer"],
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
        <TextField name="name" label="Name" placeholder="shop" hint="Empty: a name is made up." />
        <div class="pair">
          <ChoiceField
            name="region"
            label="Region"
            choices={regionsOf(platform.world).map((name) => [name, name])}
          />
          <ChoiceField name="generation" label="Generation" choices={generations} initial="older" />
        </div>
        <TextField name="team" label="Team" hint="Empty: an app of your own. A team of a new name is made." />
        <details class="more" open={isFilled}>
          <summary>From an app.json</summary>
          <TextField
            name="manifest"
            label="Pasted"
            rows={6}
            placeholder={'{ "addons": ["teapots:basic"] }'}
            hint="Config vars, add-ons, scripts: all of it is done before the app is there, or none of it."
          />
          <FileField name="file" label="Or as a file" accept=".json,application/json" />
          <TextField
            name="env"
            label="Values of its config vars"
            rows={2}
            placeholder="GREETING=hello"
            hint="One a line, for those that the app.json requires and gives no value."
          />
          <ChoiceField
            name="environment"
            label="It is"
            choices={[
              ["", "an app to stay"],
              ["review", "a review app"],
              ["test", "an app of a test run"],
            ]}
          />
        </details>
      </FormOf>
    </Section>
  );
}
