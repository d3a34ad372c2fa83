-- not in a transaction
-- What an operator counts among today's failures, too, by its time: few among all events.
CREATE INDEX CONCURRENTLY "events_of_suspension" ON "events"("at") WHERE (type = ANY (ARRAY['suspension_refused'::text, 'resume_refused'::text]));
