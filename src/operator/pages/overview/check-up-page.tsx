import type { Check } from "../../doctor/check.ts";
import type { DoctorReport } from "../../doctor/doctor.ts";
import type { Page } from "../../../pages/pages.tsx";
import { State, type Look } from "../state.tsx";

const WORDS = { well: "fine", wait: "warning", bad: "fault", gone: "not checked" } satisfies Partial<
  Record<Look, string>
>;

/** The results of all checks of `kit doctor`, with what to do. */
export function checkUpPage({ ok, checks }: DoctorReport): Page {
  const idsOf = (look: keyof typeof WORDS) =>
    checks.filter((each) => lookOf(each) === look).map(({ id }) => id);
  const [bad, warnings, skipped] = [idsOf("bad"), idsOf("wait"), idsOf("gone")];
  const said = [
    ...(bad.length > 0 ? [`Something has to be fixed: ${bad.join(", ")}.`] : []),
    ...(skipped.length > 0 ? [`Not checked: ${skipped.join(", ")}.`] : []),
    ...(ok && warnings.length > 0 ? [`No check failed; to look at: ${warnings.join(", ")}.`] : []),
  ];
  return {
    title: "Check-up",
    content: (
      <>
        <p>{said.join(" ") || ALL_WELL}</p>
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

function lookOf({ ok, fix, isChecked = true }: Check): keyof typeof WORDS {
  if (!isChecked) return "gone";
  if (!ok) return "bad";
  return fix === null ? "well" : "wait";
}
