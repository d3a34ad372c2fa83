import type { LostProvision } from "../../../resources/lost-provisions.ts";
import type { Page } from "../../../pages/pages.tsx";
import { Moment } from "../moments.tsx";

/** Provisions that were answered with an error of ours, the latest first. */
export function lostPage(lost: readonly LostProvision[]): Page {
  return {
    title: "Lost provisions",
    content: (
      <>
        <p>
          The service answered these provisions with an error, so the platform has given them up, and their
          customers have no add-on: write to them, or to the platform's support.{" "}
          <code>kit resources erase UUID</code> takes one off the list; after 30 days it leaves it by itself.
        </p>
        {lost.length === 0 ? (
          <p>There are none.</p>
        ) : (
          <table class="stacked">
            <thead>
              <tr>
                <th scope="col">Uuid</th>
                <th scope="col">Plan</th>
                <th scope="col">Name</th>
                <th scope="col">Request</th>
                <th scope="col">When</th>
              </tr>
            </thead>
            <tbody>
              {lost.map(({ uuid, plan, name, requestId, at }) => (
                <tr>
                  <th scope="row">
                    <code>{uuid}</code>
                  </th>
                  <td data-label="Plan">{plan}</td>
                  <td data-label="Name">{name ?? "–"}</td>
                  <td data-label="Request">
                    <code>{requestId}</code>
                  </td>
                  <td data-label="When">
                    <Moment at={at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </>
    ),
  };
}
