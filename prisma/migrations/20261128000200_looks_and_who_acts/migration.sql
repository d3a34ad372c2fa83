-- When the apps of a resource were last looked at, or a look was begun, and to how many it is attached. Those that are
-- there are looked at again in a day.
ALTER TABLE "resources" ADD COLUMN "looked_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now();
ALTER TABLE "resources" ADD COLUMN "attached" INTEGER;

-- The queue of these looks. A resource enters it when its app is found.
CREATE INDEX "resources_looked_at" ON "resources"("looked_at") WHERE (state = 'provisioned' AND app_id IS NOT NULL);

-- Who signed on, by the platform's id of the user, for the story of the resource.
ALTER TABLE "customer_sessions" ADD COLUMN "user_id" TEXT;
