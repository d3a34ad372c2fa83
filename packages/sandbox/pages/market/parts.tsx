import type { ComponentChildren } from "preact";
import type { AddonPrice } from "../../addon-manifest.ts";

const tones: Record<string, string> = {
  provisioned: "good",
  exchanged: "good",
  valid: "good",
  deployed: "good",
  green: "good",
  resolved: "good",
  provisioning: "busy",
  deprovisioning: "busy",
  issued: "busy",
  exchangeable: "busy",
  creating: "busy",
  waiting: "busy",
  blue: "busy",
  upcoming: "busy",
  invalid: "bad",
  revoked: "bad",
  failed: "bad",
  red: "bad",
};

/** A state as a word; the colour adds no information. */
export function State({ of: state }: { of: string }) {
  const calm = ["deprovisioned", "expired"].includes(state);
  return (
    <span class={`state ${tones[state] ?? (calm ? "gone" : "busy")}`}>{state.replaceAll("_", " ")}</span>
  );
}

interface SectionProps {
  title: string;
  id: string;
  /** Whether the section is replaced when something happens; not for sections with form fields. */
  isLive?: boolean;
  intro?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ title, id, isLive = false, intro, children }: SectionProps) {
  return (
    <section class="panel" id={id} aria-labelledby={`${id}-title`} {...(isLive && { "data-live": "" })}>
      <h2 id={`${id}-title`}>{title}</h2>
      {intro !== undefined && <p class="intro">{intro}</p>}
      {children}
    </section>
  );
}

/** A list of names and values. */
export function Facts({
  of: facts,
}: {
  of: readonly (readonly [string, ComponentChildren] | false | null)[];
}) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <div>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Shown in place of an empty list: explains what belongs there, and how to get it. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** A time of the sandbox's clock, to the second. */
export function Moment({ at }: { at: string }) {
  return <time dateTime={at}>{at.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC")}</time>;
}

/** "9.00 a month", "free", "9.00 a month and 1 cent per message". */
export function priceText(price: AddonPrice | undefined): string | undefined {
  if (!price) return undefined;
  const { cents, unit, metered } = price;
  if (cents === 0) return metered ?? "free";
  const fixed = `${(cents / 100).toFixed(2)} ${/^[aeio]|^hour/i.test(unit) ? "an" : "a"} ${unit}`;
  return metered ? `${fixed} and ${metered}` : fixed;
}

/** "1 app", "3 apps". */
export function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}
