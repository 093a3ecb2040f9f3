ALTER TABLE conversation ADD COLUMN rating smallint, ADD COLUMN rating_comment text;
ALTER TABLE conversation ADD CONSTRAINT conversation_rating_check CHECK (rating BETWEEN 1 AND 5) NOT VALID;
ALTER TABLE conversation VALIDATE CONSTRAINT conversation_rating_check;
ALTER TABLE bot ADD COLUMN look json NOT NULL DEFAULT '{}';
