import type { Brand } from "../people/brand.ts";

/** How your customers' pages look. All of it is optional; where text would be hard to read, the kit takes a shade that is not. */
export const brand: Brand = {
  colour: { light: "#0b6b62", dark: "#5fd0c3" },
  logo: {
    light: teapot("#0b6b62"),
    dark: teapot("#5fd0c3"),
  },
};

function teapot(colour: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="${colour}" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round">
    <path d="M9 14h12c2 7-1 12-6 12s-8-5-6-12zM12 14c0-4 6-4 6 0M15 9V7M21 17c6-3 6 5 0 6M9 20c-3 0-4-4-6-6"/></svg>`;
}
