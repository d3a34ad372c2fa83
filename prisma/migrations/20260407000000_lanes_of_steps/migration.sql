-- What calls the vendor and what calls the platform are claimed apart: each claim reads the head of its own queue, however
-- many wait in the other. The index of both stays for what looks at all steps.
CREATE INDEX "steps_vendor_due" ON "steps"("due_at") WHERE (due_at IS NOT NULL AND kind IN ('provision', 'finish', 'change_plan', 'clean_up'));
CREATE INDEX "steps_platform_due" ON "steps"("due_at") WHERE (due_at IS NOT NULL AND kind IN ('announce', 'discover', 'report_failure'));
