import type { AddonRecord } from "../../world/records.ts";
import { addonAt } from "./addresses.ts";
import { ChoiceField, TextField } from "./fields.tsx";
import { ButtonForm, Careful, FormOf } from "./form-of.tsx";
import type { View } from "./page.ts";
import { Section } from "./parts.tsx";

/** The customer's actions: plan change, sign-on, uninstall. */
export function OwnerForms({ view: { platform, attempt }, addon }: { view: View; addon: AddonRecord }) {
  const { addonManifest, ssoSalt } = platform.world.settings;
  const at = addonAt(addon.name);
  const plans = addonManifest?.plans.map(({ name }) => name) ?? [];
  const next = plans.find((name) => name !== addon.plan) ?? addon.plan;
  return (
    <Section title="Actions of its owner" id="actions">
      <FormOf
        form="plan"
        action={`${at}/plan`}
        attempt={attempt}
        button="Change the plan"
        look="secondary"
        isRow
      >
        {plans.length > 0 ? (
          <ChoiceField name="plan" label="Plan" choices={plans.map((name) => [name, name])} initial={next} />
        ) : (
          <TextField name="plan" label="Plan" initial={addon.plan} />
        )}
      </FormOf>
      {ssoSalt ? (
        <form method="get" action={`${at}/sign-on`} id="sign-on" class="row">
          <div class="field">
            <label for="sign-on-email">Sign on as</label>
            <input
              id="sign-on-email"
              name="email"
              type="email"
              value="owner@example.com"
              autoComplete="off"
              required
            />
          </div>
          <button type="submit" class="secondary">
            Open the add-on's page
          </button>
        </form>
      ) : (
        <p class="hint">
          Sign-on needs the salt with which your service checks the form: start the sandbox with{" "}
          <code>SSO_SALT</code>.
        </p>
      )}
      <Careful title="Uninstall…">
        <p>
          The platform sends a deprovision to your service, ends the resource's tokens and removes its config
          vars.
        </p>
        <ButtonForm
          form="uninstall"
          action={`${at}/uninstall`}
          attempt={attempt}
          button={`Uninstall ${addon.name}`}
          look="danger"
        />
      </Careful>
    </Section>
  );
}

/** The platform's actions: repeated delivery, and revoking a token. */
export function PlatformForms({ view: { attempt }, addon }: { view: View; addon: AddonRecord }) {
  const at = addonAt(addon.name);
  return (
    <Section
      title="Actions of the platform"
      id="again"
      intro="The platform delivers at least once: the same request may arrive again, and must change nothing."
    >
      <FormOf
        form="redeliver"
        action={`${at}/redeliver`}
        attempt={attempt}
        button="Deliver the provision request again"
        look="secondary"
      >
        <div class="pair">
          <ChoiceField
            name="code"
            label="With"
            choices={[
              ["same", "the same grant"],
              ["new", "a new grant"],
            ]}
          />
          <ChoiceField
            name="fault"
            label="And the answer"
            choices={[
              ["", "arrives"],
              ["lost", "is lost"],
            ]}
          />
        </div>
      </FormOf>
      {addon.state !== "deprovisioned" && (
        <FormOf
          form="revoke"
          action={`${at}/revoke`}
          attempt={attempt}
          button="Revoke"
          look="secondary outline"
          isRow
        >
          <ChoiceField
            name="token"
            label="Token"
            choices={[
              ["access", "access token"],
              ["refresh", "refresh token"],
            ]}
          />
        </FormOf>
      )}
    </Section>
  );
}
