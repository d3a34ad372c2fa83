-- Provisions that were answered with an error of ours: few among the events.
CREATE INDEX IF NOT EXISTS "events_provision_lost" ON "events"("at") WHERE ("type" = 'provision_lost');
