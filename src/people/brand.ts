import { Misconfigured } from "../errors.ts";
import { readableOn, stronger, textOn } from "../pages/contrast.ts";
import { BACKGROUNDS, type Both } from "../pages/palette.ts";
import { stylesheetOf } from "../pages/style.ts";
import { CUSTOMER } from "./customer-style.ts";

/** How the customers' pages look: {@link Extensions.brand}. The page's policy blocks images and styles of other origins. */
export interface Brand {
  /** The name of your product, at the top of each page; `ADDON_ID` unless given. */
  name?: string;
  /**
   * Stands before the name, 32 px high: an SVG document as text, or an image as a `data:` address; two where it must differ
   * on a dark background. At most 32 kB each, as they are part of every page.
   */
  logo?: string | Both;
  /**
   * The colour of buttons and links, as `#rrggbb`; two where the dark look has another. Where text would be hard to read in
   * it or on it, the kit takes a shade that can be read.
   */
  colour?: string | Both;
  /** At the foot of each page: documentation, support, terms. Addresses begin with `https://` or `mailto:`. */
  links?: readonly { readonly label: string; readonly href: string }[];
}

export type BrandOfPages = ReturnType<typeof createBrand>;

const LARGEST_LOGO = 32 * 1024;
const both = (given: string | Both): Both =>
  typeof given === "string" ? { light: given, dark: given } : given;

/** What the pages need. Throws `Misconfigured` for a brand that no page could show. */
export function createBrand(addonId: string, { name = addonId, logo, colour, links = [] }: Brand = {}) {
  const faults = [
    ...(name.trim() ? [] : ["name must not be empty."]),
    ...Object.values(logo === undefined ? {} : both(logo)).flatMap(faultsInLogo),
    ...Object.values(colour === undefined ? {} : both(colour))
      .filter((each) => !/^#[0-9a-f]{6}$/i.test(each))
      .map((each) => `colour is "${each}": write it as #rrggbb, such as #2a55c9.`),
    ...links
      .filter(({ label, href }) => !label.trim() || !/^(https:\/\/|mailto:)\S+$/.test(href))
      .map(({ label, href }) => `the link "${label}" to "${href}" needs a label, and https:// or mailto:.`),
  ];
  if (faults.length > 0)
    throw new Misconfigured(["The brand of src/your-service is invalid:", ...faults].join("\n  "));
  const { light, dark } = logo === undefined ? { light: null, dark: null } : both(logo);
  return {
    name,
    logo: light === null ? null : { light: addressOfImage(light), dark: addressOfImage(dark) },
    links,
    stylesheet: stylesheetOf("/assets/customer.css", CUSTOMER + (colour ? coloursOf(both(colour)) : "")),
  };
}

const isSvg = (logo: string) => logo.trimStart().startsWith("<svg");

function faultsInLogo(logo: string): string[] {
  const isImage = /^data:image\/(svg\+xml|png|jpeg|gif|webp|avif)[;,][^\s"]+$/.test(logo);
  if (!isSvg(logo) && !isImage)
    return ["logo must be an SVG document that begins with <svg, or data:image/…"];
  if (isSvg(logo) && !logo.includes("http://www.w3.org/2000/svg"))
    return [`logo needs xmlns="http://www.w3.org/2000/svg", or browsers show nothing.`];
  if (logo.length > LARGEST_LOGO) return [`logo has ${logo.length} characters; at most ${LARGEST_LOGO} fit.`];
  return [];
}

const addressOfImage = (logo: string) =>
  isSvg(logo) ? `data:image/svg+xml,${encodeURIComponent(logo.trim())}` : logo;

function coloursOf({ light, dark }: Both): string {
  return `${rules("light", light)} @media (prefers-color-scheme: dark) { ${rules("dark", dark)} }`;
}

function rules(look: keyof Both, colour: string): string {
  const link = readableOn(BACKGROUNDS[look], colour);
  const values = {
    primary: link,
    "primary-hover": stronger(link),
    "primary-underline": `${link}66`,
    "primary-focus": `${link}99`,
    "primary-background": colour,
    "primary-border": link,
    "primary-hover-background": stronger(colour),
    "primary-hover-border": link,
    "primary-inverse": textOn(colour),
  };
  const lines = Object.entries(values).map(([name, value]) => `--pico-${name}: ${value};`);
  return `.customer:not([data-theme]) { ${lines.join(" ")} }`;
}
