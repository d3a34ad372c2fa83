import { type Finding, listOptions, type Whom } from "../doctor/finding.ts";
import type { Urgency } from "../facts/fact.ts";
import { factOf } from "../facts/facts.ts";
import { MOST_COUNTED } from "../wording.ts";
import type { Action } from "./action.ts";
import { OF_ALL } from "./actions.tsx";
import { FIXES } from "./ledgers-page.tsx";
import { A, Buttons, type Look, Moment, number, State } from "./parts.tsx";
import { RunbookLink } from "./runbook-page.tsx";

// What was found, for the overview and the check-up.

export const WORDS_OF_URGENCY: Readonly<Record<Urgency, [word: string, look: Look]>> = {
  urgent: ["urgent", "bad"],
  now: ["right now", "wait"],
  later: ["can wait", "wait"],
  remark: ["remark", "gone"],
};

/** The operator's actions on all resources, by their paths below `/operator`. */
export const ACTIONS: Readonly<Record<string, Action>> = Object.fromEntries(
  [...OF_ALL, ...FIXES].map((action) => [`${action.under ?? ""}/${action.name}`, action]),
);

export const ButtonsOf = ({ paths }: { paths: readonly string[] }) => (
  <Buttons of={paths.map((path) => ({ path, ...ACTIONS[path]! }))} />
);

/** Cause, whom, since when, and the way to the cure, unless that is its cause's. `heading`: the element of its title. */
export function Card({ of, heading: Heading }: { of: Finding; heading: "h2" | "h3" }) {
  const { message, fix, fact, because, urgency = "urgent", title, since, whom, runbook } = of;
  const [word, look] = WORDS_OF_URGENCY[urgency];
  const { buttons = [], page = null } = fact ? factOf(fact) : {};
  return (
    <article class={`fact ${urgency}${because ? " caused" : ""}`}>
      <Heading>
        <State of={word} look={look} /> {title}
        {since && (
          <small>
            since <Moment at={since} />
          </small>
        )}
      </Heading>
      <p>{message}</p>
      {whom && <Named whom={whom} />}
      {fix && <p>{fix}</p>}
      {buttons.length > 0 && !because && <ButtonsOf paths={buttons} />}
      <p class="more">
        {page && <A to={page.path}>{page.name}</A>}
        {runbook && <RunbookLink heading={runbook} />}
      </p>
    </article>
  );
}

/** Up to five resources, and the list of exactly these. */
export function Named({ whom: { count, some = [], list } }: { whom: Whom }) {
  const more = count - some.length;
  const others = `${number(more)}${count >= MOST_COUNTED ? " or more" : ""} more`;
  const words = more > 0 ? `and ${others}` : "as a list";
  return (
    <ul class="whom">
      {some.map((each) => (
        <li>
          <A to={`/resources/${each.uuid}`}>
            <bdi>{each.name ?? each.uuid}</bdi>
          </A>{" "}
          <small>
            <bdi>{each.plan}</bdi>
            {each.app !== null && [" · app ", <bdi>{each.app}</bdi>]}
          </small>
        </li>
      ))}
      {(list || more > 0) && (
        <li>
          {list ? <A to={`/resources?${new URLSearchParams(list).toString()}`}>{words}</A> : words}
          {list && (
            <small>
              {" "}
              <code>kit resources list {listOptions(list)}</code>
            </small>
          )}
        </li>
      )}
    </ul>
  );
}
