import type { DoctorReport } from "../../operator/doctor/doctor.ts";
import type { Page } from "../../pages/pages.tsx";

/** Everything that the command `kit doctor` looks at, and what to do. */
export function checkUpPage({ ok, checks }: DoctorReport): Page {
  return {
    title: "Check-up",
    content: (
      <>
        <p>{ok ? "Everything the service needs is there." : "Something has to be mended."}</p>
        <ul class="cards">
          {checks.map(({ id, ok: isFine, message, fix }) => (
            <li class={isFine ? (fix === null ? "well" : "wait") : "bad"}>
              <h3>{id}</h3>
              <p>{message}</p>
              {fix !== null && <p class="quiet">{fix}</p>}
            </li>
          ))}
        </ul>
      </>
    ),
  };
}
