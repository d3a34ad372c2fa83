import type { ConfigDifference, ShownValue, VarDifference } from "../../config-diff.ts";

const MEANINGS: Readonly<Record<VarDifference["state"], string>> = {
  same: "same",
  differs: "differs",
  missing: "missing on the platform",
  extra: "on the platform only",
  foreign: "on the platform, never set from here",
};

/** Config vars compared without showing their values: two values are equal if their marks are. */
export function DiffTable({ of: { vars, isKnown } }: { of: ConfigDifference }) {
  if (!isKnown)
    return (
      <p>
        What your service wants is not known yet: it is still being provisioned, or was installed before the
        kit.
      </p>
    );
  if (vars.length === 0) return <p>There are no config vars, here or on the platform.</p>;
  return (
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Your service</th>
          <th scope="col">The platform</th>
          <th scope="col">Compared</th>
        </tr>
      </thead>
      <tbody>
        {vars.map(({ name, state, wanted, platform }) => (
          <tr>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td data-label="Your service">
              <Masked of={wanted} />
            </td>
            <td data-label="The platform">
              <Masked of={platform} />
            </td>
            <td data-label="Compared">{MEANINGS[state]}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Masked({ of }: { of: ShownValue | null }) {
  if (!of) return <span class="quiet">none</span>;
  return (
    <span>
      •••••••• <small class="beside">mark {of.fingerprint}</small>
    </span>
  );
}
