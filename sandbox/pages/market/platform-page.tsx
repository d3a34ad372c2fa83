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
      <h1>Be the platform</h1>
      <p class="lead">Make happen what happens to every service one day, and watch how yours copes.</p>
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
      intro="The platform's time, not your service's. 8 hours end every access token, 12 the wait for a provision."
    >
      <div id="clock" data-live="">
        <Facts
          of={[
            ["it is", <Moment at={`${new Date(clock.now()).toISOString().slice(0, 16)}Z`} />],
            ["ahead by", hours === 0 ? "nothing" : `${hours} ${hours === 1 ? "hour" : "hours"}`],
          ]}
        />
      </div>
      <FormOf
        form="clock"
        action={`${PLATFORM}/clock`}
        attempt={attempt}
        button="Move the clock"
        look="secondary"
        isRow
      >
        <TextField name="hours" label="On by, in hours" inputMode="decimal" initial="8" />
      </FormOf>
    </Section>
  );
}

function ClientSecret({ view: { attempt } }: { view: View }) {
  return (
    <Section
      title="Client secret"
      id="secret-panel"
      intro="As in the partner portal: a reset gives a new secret, and every access token is dead at once."
    >
      <Careful title="Reset it…">
        <p>The new one is shown once. Until your service has it, it can refresh nothing.</p>
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
      <Careful title="Forget everything…">
        <p>
          Apps, add-ons, tokens, calls, faults and incidents are forgotten, the clock and the settings are as
          at the start. Who your service is stays, with the client secret that was given last, also if it was
          reset since. Your service is not told, and keeps what it has.
        </p>
        <ButtonForm
          form="reset"
          action={`${PLATFORM}/reset`}
          attempt={attempt}
          button="Forget everything"
          look="danger"
        />
      </Careful>
    </Section>
  );
}
