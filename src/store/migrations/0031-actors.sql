-- Keys, machines and the server itself act too. The version before knows people and commands alone: it reads these as
-- commands, and the column says what they are.
ALTER TABLE event ADD COLUMN actor_as TEXT;
