import { NOT_KNOWN_YET, type ConfigDifference, type ShownValue, type VarDifference } from "../config-diff.ts";
import { Table } from "./parts.tsx";

const MEANINGS: Readonly<Record<VarDifference["state"], string>> = {
  same: "same",
  differs: "differs",
  missing: "missing on the platform",
  extra: "on the platform only",
  foreign: "on the platform, never set from here",
};

/** Config vars compared without showing their values: two values are equal if their marks are. */
export function DiffTable({ of: { vars, isKnown } }: { of: ConfigDifference }) {
  if (!isKnown) return <p>{NOT_KNOWN_YET}</p>;
  if (vars.length === 0) return <p>There are no config vars, here or on the platform.</p>;
  return (
    <Table
      columns={[
        ["Name", ({ name }) => <code>{name}</code>],
        ["Your service", ({ wanted }) => <Masked of={wanted} />],
        ["The platform", ({ platform }) => <Masked of={platform} />],
        ["Compared", ({ state }) => MEANINGS[state]],
      ]}
      rows={vars}
    />
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
