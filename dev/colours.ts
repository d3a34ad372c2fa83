import picocolors from "picocolors";

/** Colours on a terminal only; NO_COLOR and FORCE_COLOR as everywhere. */
export const colours = picocolors.createColors(
  picocolors.isColorSupported && (process.stdout.isTTY || Boolean(process.env["FORCE_COLOR"])),
);
