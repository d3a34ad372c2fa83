import type { Brand } from "../people/brand.ts";

/** How your customers' pages look. All of it is optional; a link or text that could not be read gets a shade that can. */
export const brand: Brand = {
  colour: { light: "#0b6b62", dark: "#5fd0c3" },
  logo: { light: mark("#0b6b62"), dark: mark("#5fd0c3") },
};

/** A placeholder for your logo. */
function mark(colour: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="${colour}" stroke-width="3"><rect x="3" y="3" width="26" height="26" rx="8"/><path d="M10 21V11m6 10V8m6 13v-6"/></svg>`;
}
