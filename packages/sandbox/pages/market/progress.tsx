import type { AddonState } from "../../control/state.ts";

type Mark = "done" | "failed" | "open";

interface Step {
  title: string;
  mark: Mark;
  text: string;
}

/** The progress of a resource in four steps, as far as the platform knows it. */
export function Progress({ addon }: { addon: AddonState }) {
  return (
    <ol class="progress">
      {stepsOf(addon).map(({ title, mark, text }) => (
        <li class={mark}>
          <strong>{title}</strong>
          <span class="visually-hidden">{`: ${mark}. `}</span>
          <small>{text}</small>
        </li>
      ))}
    </ol>
  );
}

function stepsOf(addon: AddonState): Step[] {
  const { plan, region, config_vars: vars, state } = addon;
  const isOver = state === "deprovisioned";
  const mark = (isDone: boolean): Mark => (isDone ? "done" : isOver ? "failed" : "open");
  return [
    { title: "Requested", mark: "done", text: `plan ${plan.name} in ${region}` },
    answerStep(addon),
    exchangeStep(addon),
    {
      title: "Config vars",
      mark: mark(vars.length > 0),
      text: vars.length > 0 ? vars.join(", ") : isOver ? "none were set" : "none yet",
    },
  ];
}

function answerStep({ grant, state, was_answered: wasAnswered }: AddonState): Step {
  const title = "Answered";
  if (grant === null) return { title, mark: "open", text: "not requested: installed before your service" };
  if (!wasAnswered && (grant.state === "issued" || grant.state === "expired"))
    return { title, mark: state === "deprovisioned" ? "failed" : "open", text: "no answer yet" };
  if (!wasAnswered && grant.state === "invalid")
    return { title, mark: "failed", text: "failed: the grant is invalid" };
  return {
    title,
    mark: "done",
    text: state === "provisioning" ? "later: the work continues" : "your service accepted",
  };
}

function exchangeStep({ grant, tokens }: AddonState): Step {
  const title = "Grant exchanged";
  if (tokens.length > 0) return { title, mark: "done", text: "your service has its tokens" };
  if (grant === null) return { title, mark: "open", text: "there is no grant" };
  const isDead = grant.state === "invalid" || grant.state === "expired";
  return {
    title,
    mark: isDead ? "failed" : "open",
    text: isDead ? `the grant is ${grant.state}` : "due within 5 minutes",
  };
}
