// Colours of a brand, made readable: contrast as WCAG 2 defines it. A colour is written `#rrggbb`.

/** What WCAG asks of text is 4.5; the rest is for rounding. */
const WANTED = 4.6;
const [BLACK, WHITE] = ["#000000", "#ffffff"] as const;

const channels = (colour: string) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** The contrast of two colours, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

/** A colour with a share of another in it, 0 to 1. */
function mixed(colour: string, other: string, share: number): string {
  const others = channels(other);
  const mix = channels(colour).map((channel, at) => Math.round(channel + (others[at]! - channel) * share));
  return `#${mix.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

/** The colour itself, or the nearest shade of it that can be read on all of these backgrounds. */
export function readableOn(backgrounds: readonly string[], colour: string): string {
  const towards = textOn(backgrounds[0]!);
  const shades = Array.from({ length: 21 }, (_, step) => mixed(colour, towards, step / 20));
  const isReadable = (shade: string) => backgrounds.every((each) => contrast(shade, each) >= WANTED);
  return shades.find(isReadable) ?? towards;
}

/** Black or white, whichever contrasts more. */
export function textOn(background: string): string {
  return contrast(BLACK, background) > contrast(WHITE, background) ? BLACK : WHITE;
}

/** A shade for the pointer above it, which contrasts more with the text on the colour than the colour does. */
export function stronger(colour: string): string {
  return mixed(colour, textOn(colour) === WHITE ? BLACK : WHITE, 0.15);
}
