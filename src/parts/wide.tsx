import type { ComponentChildren } from "preact";

/** Around what may be wider than a phone, such as a table: it scrolls by itself, also with the keyboard. */
export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
