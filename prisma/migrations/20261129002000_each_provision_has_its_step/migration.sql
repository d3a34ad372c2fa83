-- Each provision has its step from the statement that stores its resource. A process of the release before writes the step
-- only once the provision outlasts its request, so a trigger writes it for that release, which is known by the column
-- "applied_plan": this one leaves it empty. The release after the next one drops both.
ALTER TABLE "resources" ALTER COLUMN "applied_plan" SET DEFAULT '';

-- Created first: it waits for statements under way, and what they stored is found below.
CREATE FUNCTION "write_step_of_provision"() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
  INSERT INTO "steps" ("uuid", "key", "kind", "due_at", "attempts", "lease", "leased_until", "created_at", "request_id", "traceparent")
  SELECT NEW."uuid", NEW."uuid", 'provision', now(), 1, 1, greatest(NEW."created_at" + interval '30 seconds', now() + interval '5 seconds'),
    NEW."created_at", c."request_id", c."traceparent"
  FROM "credentials" c WHERE c."uuid" = NEW."uuid" AND NOT EXISTS (SELECT FROM "steps" s WHERE s."uuid" = NEW."uuid");
  RETURN NULL;
END $$;

CREATE TRIGGER "write_step_of_provision" AFTER INSERT ON "resources" FOR EACH ROW
  WHEN (NEW."applied_plan" <> '' AND NEW."state" = 'provisioning' AND NEW."answer_status" IS NULL) EXECUTE FUNCTION "write_step_of_provision"();

-- Provisions under way: leased for as long as the process that stored one may be at work, or until it has noticed.
INSERT INTO "steps" ("uuid", "key", "kind", "due_at", "attempts", "lease", "leased_until", "created_at", "request_id", "traceparent")
SELECT r."uuid", r."uuid", 'provision', now(), 1, 1, greatest(r."created_at" + interval '30 seconds', now() + interval '5 seconds'),
  r."created_at", c."request_id", c."traceparent"
FROM "resources" r JOIN "credentials" c USING ("uuid")
WHERE r."state" = 'provisioning' AND r."answer_status" IS NULL AND NOT EXISTS (
  SELECT FROM "steps" s WHERE s."uuid" = r."uuid" AND s."kind" IN ('provision', 'finish', 'announce', 'report_failure')
    AND NOT (s."detail" ? 'plan'));
