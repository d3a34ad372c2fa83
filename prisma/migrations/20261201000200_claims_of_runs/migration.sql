-- The claim that began a run, by which its process finds the run again if the claim was not acknowledged.
ALTER TABLE "your_job_runs" ADD COLUMN "claim" UUID;
