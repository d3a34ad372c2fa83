import { PLATFORM } from "./addresses.ts";
import { Faults } from "./fault-panel.tsx";
import { TextField } from "./fields.tsx";
import { ButtonForm, Careful, FormOf } from "./form-of.tsx";
import { Incidents } from "./incident-panel.tsx";
import type { ShowPage, View } from "./page.ts";
import { Facts, Moment, Section } from "./parts.tsx";

/** The platform's own controls: faults, clock, status feed, client secret, and reset. */
export const platformPage: ShowPage = (view) => ({
  title: "Platform",
  part: "platform",
  content: (
    <>
      <h1>Act as the platform</h1>
      <p class="lead">
        Cause the faults and events that a service meets in production, and watch how yours handles them.
      </p>
      <div class="columns">
        <div>
          <Faults view={view} />
          <Clock view={view} />
        </div>
        <div>
          <Incidents view={view} />
          <ClientSecret view={view} />
          <StartOver view={view} />
        </div>
      </div>
    </>
  ),
});

function Clock({ view: { platform, attempt } }: { view: View }) {
  const { clock } = platform.world;
  const hours = Math.round(clock.offsetMs() / 36_000) / 100;
  return (
    <Section
      title="Clock"
      id="clock-panel"
      intro="The time of the platform, not of your service. Access tokens expire after 8 hours; a provision fails after 12."
    >
      <div id="clock" data-live="">
        <Facts
          of={[
            ["time", <Moment at={`${new Date(clock.now()).toISOString().slice(0, 16)}Z`} />],
            ["ahead by", hours === 0 ? "nothing" : `${hours} ${hours === 1 ? "hour" : "hours"}`],
          ]}
        />
      </div>
      <FormOf
        form="clock"
        action={`${PLATFORM}/clock`}
        attempt={attempt}
        button="Advance the clock"
        look="secondary"
        isRow
      >
        <TextField name="hours" label="Advance by (hours)" inputMode="decimal" initial="8" />
      </FormOf>
    </Section>
  );
}

function ClientSecret({ view: { attempt } }: { view: View }) {
  return (
    <Section
      title="Client secret"
      id="secret-panel"
      intro="As in the partner portal: a reset creates a new secret, and ends every access token at once."
    >
      <Careful title="Reset…">
        <p>The new secret is shown once. Until your service has it, it cannot refresh tokens.</p>
        <ButtonForm
          form="secret"
          action={`${PLATFORM}/client-secret`}
          attempt={attempt}
          button="Reset the client secret"
          look="danger"
        />
      </Careful>
    </Section>
  );
}

function StartOver({ view: { attempt } }: { view: View }) {
  return (
    <Section title="Start over" id="reset-panel">
      <Careful title="Reset everything…">
        <p>
          This removes apps, add-ons, tokens, calls, faults and incidents, and sets the clock and the settings
          back to those of the start. The registration of your service stays, with the client secret that was
          given last, even if it was reset since. Your service is not notified, and keeps its data.
        </p>
        <ButtonForm
          form="reset"
          action={`${PLATFORM}/reset`}
          attempt={attempt}
          button="Reset everything"
          look="danger"
        />
      </Careful>
    </Section>
  );
}
