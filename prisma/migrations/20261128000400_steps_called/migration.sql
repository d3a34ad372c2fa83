-- The steps that are under way, or whose last call failed: the few among many that wait for their turn.
CREATE INDEX "steps_called" ON "steps"("kind", "due_at") WHERE ((leased_until IS NOT NULL) OR (last_error IS NOT NULL));
