import type { OpenContext } from "../../context.ts";
import { NO_SUSPENSION } from "../../extend/suspension.ts";
import { LONGEST_REASON } from "../../extend/suspension-store.ts";
import { isWhole, reportInWords } from "../report.ts";
import {
  ABOUT_RESUMING,
  ABOUT_SUSPENSION,
  resumeResources,
  suspendResources,
  typedReason,
} from "../suspension.ts";
import type { How, Report } from "../work-through.ts";
import type { Action } from "./action.ts";

const whyNot = ({ vendor }: OpenContext) => (vendor.suspend ? null : NO_SUSPENSION);
const ended = (work: (how: How) => Promise<Report>) => async (how: How) => {
  const report = await work(how);
  return { isDone: isWhole(report), message: reportInWords(report, "asked for") };
};

const suspend: Action = {
  name: "suspend",
  hasInput: true,
  label: "Suspend it",
  whyNot,
  ask: () => (
    <>
      <p>{ABOUT_SUSPENSION} If it is suspended already, only the reason changes.</p>
      <label>
        The reason, in a sentence that the customer reads
        <textarea name="reason" rows={2} maxLength={LONGEST_REASON} required />
      </label>
    </>
  ),
  work(ctx, uuid, form) {
    const reason = typedReason(form.get("reason") ?? "");
    return ended((how) => suspendResources(ctx, [uuid], reason, how));
  },
};

const resume: Action = {
  name: "resume",
  label: "Resume it",
  whyNot,
  ask: () => <p>{ABOUT_RESUMING}</p>,
  work: (ctx, uuid) => ended((how) => resumeResources(ctx, [uuid], how)),
};

export const SUSPENSION: readonly Action[] = [suspend, resume];
