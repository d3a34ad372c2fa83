import type { Check } from "../../operator/doctor/check.ts";
import type { DoctorReport } from "../../operator/doctor/doctor.ts";
import type { Page } from "../../pages/pages.tsx";
import { State, type Look } from "../state.tsx";

const WORDS = { well: "fine", wait: "warning", bad: "fault", gone: "not looked at" } satisfies Partial<
  Record<Look, string>
>;

/** The results of all checks of `kit doctor`, with what to do. */
export function checkUpPage({ ok, checks }: DoctorReport): Page {
  const idsOf = (look: keyof typeof WORDS) =>
    checks.filter((each) => lookOf(each) === look).map(({ id }) => id);
  const warnings = idsOf("wait");
  const well = warnings.length > 0 ? `No check failed; to look at: ${warnings.join(", ")}.` : ALL_WELL;
  return {
    title: "Check-up",
    content: (
      <>
        <p>{ok ? well : `Something has to be mended: ${idsOf("bad").join(", ")}.`}</p>
        <ul class="cards">
          {checks.map((check) => (
            <li class={lookOf(check)}>
              <h2>
                {check.id} <State of={WORDS[lookOf(check)]} look={lookOf(check)} />
              </h2>
              <p>{check.message}</p>
              {check.fix !== null && <p class="quiet">{check.fix}</p>}
            </li>
          ))}
        </ul>
      </>
    ),
  };
}

const ALL_WELL = "Everything the service needs is there.";

function lookOf({ ok, fix, isLookedAt = true }: Check): keyof typeof WORDS {
  if (!isLookedAt) return "gone";
  if (!ok) return "bad";
  return fix === null ? "well" : "wait";
}
