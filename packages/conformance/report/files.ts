import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { type Options, UsedWrongly } from "../options.ts";
import { badge, badgeOfFailure } from "./badge.ts";
import { htmlOfFailure, htmlReport } from "./html.tsx";
import { junitOfFailure, junitReport } from "./junit.ts";
import type { Report } from "./report.ts";

/** The files that a run writes beside its report on standard output. */
const FORMS = {
  junit: { of: junitReport, ofFailure: junitOfFailure },
  html: { of: (report: Report) => htmlReport(report, new Date()), ofFailure: htmlOfFailure },
  badge: { of: badge, ofFailure: badgeOfFailure },
};

export type ReportFiles = ReturnType<typeof reportFiles>;

export function reportFiles(options: Options) {
  const wanted = (Object.keys(FORMS) as (keyof typeof FORMS)[]).flatMap((form) => {
    const file = options[form];
    return file === undefined ? [] : { file, form };
  });
  return {
    /** Before the run, so that no report is lost at its end. Throws {@link UsedWrongly}. */
    check(): void {
      for (const { file, form } of wanted) {
        try {
          const isNew = !existsSync(file);
          appendFileSync(file, "");
          if (isNew) rmSync(file);
        } catch (error) {
          throw new UsedWrongly(`The report cannot be written with --${form}: ${(error as Error).message}`);
        }
      }
    },
    write: (report: Report) => writeAll((form) => FORMS[form].of(report)),
    /** In place of an older report, if the run came to no verdict. */
    writeFailure: (message: string) => writeAll((form) => FORMS[form].ofFailure(message)),
  };

  /**
   * Returns a sentence for each file that could not be written: what could be written before the run may be full, or
   * gone, after it, and the verdict is then still to be shown.
   */
  function writeAll(textOf: (form: keyof typeof FORMS) => string): string[] {
    return wanted.flatMap(({ file, form }) => {
      try {
        writeFileSync(file, textOf(form));
        return [];
      } catch (error) {
        return [`The report was not written with --${form}: ${(error as Error).message}`];
      }
    });
  }
}
