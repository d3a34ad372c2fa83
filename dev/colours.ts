import picocolors from "picocolors";

/** Colours on a terminal only, unless NO_COLOR or FORCE_COLOR says otherwise. */
export const colours = picocolors.createColors(
  picocolors.isColorSupported && (process.stdout.isTTY || Boolean(process.env["FORCE_COLOR"])),
);
