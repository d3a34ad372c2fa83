import { currentStatus } from "../../status/current-status.ts";
import { PLATFORM } from "./addresses.ts";
import { faultCalls, faultKinds } from "./fault-choices.ts";
import { ButtonForm, Careful, ChoiceField, FormOf, TextField } from "./form-parts.tsx";
import type { ShowPage, View } from "./page.ts";
import { count, Empty, Facts, Moment, Section, State } from "./parts.tsx";

/** What the platform itself can do: to its clock, its secrets, its wires, its status. */
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

function Faults({ view: { platform, attempt, control } }: { view: View }) {
  const pending = control.faults();
  return (
    <Section
      title="Faults on the wire"
      id="faults-panel"
      intro="The next calls that fit go wrong. Nothing else does."
    >
      <div id="faults" data-live="">
        {pending.length === 0 ? (
          <Empty>No fault waits: every call arrives, and so does its answer.</Empty>
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
        button="Play this fault"
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
          button="Play none of them"
          look="secondary outline"
        />
      )}
    </Section>
  );
}

function Incidents({ view: { platform, attempt } }: { view: View }) {
  const { status, incidents, scheduled } = currentStatus(platform);
  return (
    <Section
      title="Status and incidents"
      id="incidents-panel"
      intro="What the platform's status feed says; your service reads it."
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
        button="Post it"
        look="secondary"
      >
        <TextField name="title" label="What happens" placeholder="Config changes are slow" />
        <TextField name="contents" label="What customers are told" rows={2} />
        <div class="pair">
          <ChoiceField
            name="kind"
            label="It is"
            choices={[
              ["incident", "an incident"],
              ["maintenance", "a maintenance"],
            ]}
          />
          <ChoiceField
            name="system"
            label="Where"
            choices={["Apps", "Data", "Tools"].map((name) => [name, name])}
          />
        </div>
      </FormOf>
    </Section>
  );
}

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
        <p>Apps, add-ons, tokens and calls are forgotten; your service is not told, and keeps what it has.</p>
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
