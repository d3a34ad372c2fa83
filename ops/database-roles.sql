-- The role of the service, as in docs/database.md, for the PostgreSQL of compose.yaml: it runs this once, in its new
-- database, as the role that owns it.
\getenv password DATABASE_PASSWORD
CREATE ROLE addon_service LOGIN PASSWORD :'password';
REVOKE ALL ON DATABASE addon FROM PUBLIC;
GRANT CONNECT ON DATABASE addon TO addon_service;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO addon_service;
ALTER DEFAULT PRIVILEGES FOR ROLE addon_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO addon_service;
ALTER DEFAULT PRIVILEGES FOR ROLE addon_owner IN SCHEMA public
  GRANT USAGE ON SEQUENCES TO addon_service;
