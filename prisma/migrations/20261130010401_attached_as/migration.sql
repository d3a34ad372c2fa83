-- The name that takes the place of the declared prefix in an app's config vars.
ALTER TABLE "resources" ADD COLUMN "attached_as" TEXT;
