-- When your service last rotated a resource's credentials; null: never.
ALTER TABLE "resources" ADD COLUMN "rotated_at" TIMESTAMPTZ(6);
-- Rotations are a lane of their own, so that those of all resources hold up no provision.
CREATE INDEX "steps_rotation_due" ON "steps"("due_at") WHERE (due_at IS NOT NULL AND kind IN ('rotate', 'retire'));
