import type { ComponentChildren } from "preact";

type Fact = readonly [name: ComponentChildren, value: ComponentChildren];

/** Names and their values; what is null, empty or false is left out. */
export function Facts({ of }: { of: readonly (Fact | null | "" | false)[] }) {
  const facts = of.filter((fact) => fact !== null && fact !== "" && fact !== false);
  return (
    <dl>
      {facts.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
