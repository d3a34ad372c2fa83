-- A keyed hash over what a row says of who somebody is: a row that was written without the key counts for nothing. Rows of
-- the release before have none, so whom it let in signs in again.
ALTER TABLE "people" ADD COLUMN "proof" BYTEA;
ALTER TABLE "sessions" ADD COLUMN "proof" BYTEA;
ALTER TABLE "customer_sessions" ADD COLUMN "proof" BYTEA;

-- An operator's action is changed while it runs, and stays as it ended.
CREATE FUNCTION keep_ended_action() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'operator_actions: an action that has ended is not changed' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER "keep_ended_action" BEFORE UPDATE ON "operator_actions" FOR EACH ROW WHEN (OLD.state <> 'running') EXECUTE FUNCTION keep_ended_action();

-- An event stays as it was written. A customer's action gets its end, and the events of an erased resource are emptied.
CREATE FUNCTION keep_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events: an event is not changed' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER "keep_event" BEFORE UPDATE ON "events" FOR EACH ROW WHEN (NEW.detail <> '{}' AND NOT (OLD.type = 'customer_action' AND coalesce(OLD.detail->>'state', '') = 'running')) EXECUTE FUNCTION keep_event();
