import type { Page } from "../../pages/pages.tsx";
import {
  EVENT_GROUPS,
  EVENT_TYPES,
  type EventGroup,
  groupOf,
  type listEvents,
  type Wish,
} from "../events.ts";
import { detailsInWords } from "../resource-facts.ts";
import { planInWords } from "../wording.ts";
import { A, Filters, type Look, Moment, Options, Pager, Select, State, Table } from "./parts.tsx";

/** The parameters of the address of the events. */
export const EVENTS_QUERY = ["type", "plan", "app", "after"] as const;
export const EVENTS_SIZE = 25;

const LOOKS: Partial<Record<EventGroup, Look>> = { failed: "bad", ended: "gone" };

/** `plans`: those on offer. */
export function eventsPage(
  { after, ...wish }: Wish & { after?: string | undefined },
  { events, next }: Awaited<ReturnType<typeof listEvents>>,
  plans: readonly string[],
): Page {
  return {
    title: "Events",
    content: (
      <>
        <search>
          <form class="search" method="get">
            <label>
              Type
              <select name="type">
                <option value="">any</option>
                {EVENT_GROUPS.map((group) => (
                  <optgroup label={group}>
                    <option value={group} selected={group === wish.type}>
                      all {group}
                    </option>
                    <Options of={EVENT_TYPES[group]} value={wish.type} />
                  </optgroup>
                ))}
              </select>
            </label>
            <Select name="plan" label="Plan" of={plans} value={wish.plan} />
            <label>
              App's name or id
              <input type="search" name="app" value={wish.app} maxLength={200} />
            </label>
            <button type="submit">Show</button>
          </form>
        </search>
        <Filters path="/events" of={wish} />
        <Table
          columns={[
            ["When", ({ at }) => <Moment at={at} exact />],
            ["What", ({ type }) => <What type={type} />],
            ["Resource", whose],
            ["App", ({ app }) => <bdi>{app?.name ?? "–"}</bdi>],
            ["Plan", ({ plan }) => (plan === null ? "–" : planInWords(plan))],
            ["Details", ({ detail }) => <bdi>{detailsInWords(detail) || "–"}</bdi>],
          ]}
          rows={events}
        />
        <Pager path="/events" query={wish} after={after} next={next} label="Older ones" />
      </>
    ),
  };
}

function What({ type }: { type: string }) {
  const words = type.replaceAll("_", " ");
  const group = groupOf(type);
  return group === "asked" ? <strong>{words}</strong> : <State of={words} look={LOOKS[group!] ?? "well"} />;
}

const whose = ({ uuid, name }: { uuid: string | null; name: string | null }) =>
  uuid === null ? (
    "all"
  ) : (
    <A to={`/resources/${uuid}`}>
      <bdi>{name ?? uuid}</bdi>
    </A>
  );
