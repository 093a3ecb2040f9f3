"""One login for a person, accounts of it in workspaces: an address may have an account in each of them.

The version before knows accounts only, with an address that no other has. Triggers make the login of an account that it
adds, keep the two alike, and write its unique `email`: of a second account, the address with the account's id.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T01:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "logins"

UP = """
CREATE TABLE login (
    id text COLLATE "C" PRIMARY KEY,
    email text NOT NULL,
    verified_at timestamptz(3), -- when its mail was opened; null: somebody said so
    password_hash text,
    totp_secret bytea, -- sealed, as it was in user_account
    totp_step bigint,
    known_browsers text[] NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX login_verified ON login (lower(email)) WHERE verified_at IS NOT NULL;
CREATE INDEX login_email ON login (lower(email));
ALTER TABLE invitation ADD COLUMN mailed boolean NOT NULL DEFAULT false; -- nobody else was shown the link
ALTER TABLE user_account ADD COLUMN login_id text COLLATE "C", ADD COLUMN email_address text;

CREATE FUNCTION user_account_filled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.login_id := coalesce(NEW.login_id, NEW.id);
    IF NEW.email_address IS NULL THEN
        NEW.email_address := NEW.email;
    ELSIF EXISTS (SELECT FROM user_account u WHERE lower(u.email) = lower(NEW.email_address) AND u.id <> NEW.id) THEN
        NEW.email := NEW.email_address || ' ' || NEW.id;
    ELSE
        NEW.email := NEW.email_address;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER user_account_filled BEFORE INSERT ON user_account
    FOR EACH ROW EXECUTE FUNCTION user_account_filled();

CREATE FUNCTION user_account_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO login (id, email, password_hash, totp_secret, totp_step, known_browsers)
    VALUES (NEW.id, NEW.email_address, NEW.password_hash, NEW.totp_secret, NEW.totp_step, NEW.known_browsers)
    ON CONFLICT (id) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER user_account_added AFTER INSERT ON user_account
    FOR EACH ROW WHEN (NEW.login_id = NEW.id) EXECUTE FUNCTION user_account_added();

CREATE FUNCTION user_account_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE login SET password_hash = NEW.password_hash, totp_secret = NEW.totp_secret, totp_step = NEW.totp_step,
        known_browsers = NEW.known_browsers WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER user_account_changed AFTER UPDATE OF password_hash, totp_secret, totp_step, known_browsers
    ON user_account FOR EACH ROW WHEN (pg_trigger_depth() = 0 AND OLD IS DISTINCT FROM NEW)
    EXECUTE FUNCTION user_account_changed();

CREATE FUNCTION login_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE user_account SET password_hash = NEW.password_hash, totp_secret = NEW.totp_secret,
        totp_step = NEW.totp_step, known_browsers = NEW.known_browsers WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER login_changed AFTER UPDATE OF password_hash, totp_secret, totp_step, known_browsers
    ON login FOR EACH ROW WHEN (pg_trigger_depth() = 0 AND OLD IS DISTINCT FROM NEW) EXECUTE FUNCTION login_changed();

-- The last account takes its login along. Of two that are removed at once, the second sees that the first has gone.
CREATE FUNCTION user_account_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM FROM login WHERE id = OLD.login_id FOR UPDATE;
    DELETE FROM login l WHERE id = OLD.login_id AND NOT EXISTS (SELECT FROM user_account u WHERE u.login_id = l.id);
    RETURN NULL;
END $$;
CREATE TRIGGER user_account_removed AFTER DELETE ON user_account
    FOR EACH ROW EXECUTE FUNCTION user_account_removed();

-- Whoever changes an account meanwhile is waited for, and then finds its login.
INSERT INTO login (id, email, password_hash, totp_secret, totp_step, known_browsers) SELECT * FROM (
    SELECT id, email, password_hash, totp_secret, totp_step, known_browsers FROM user_account FOR NO KEY UPDATE
) AS present ON CONFLICT (id) DO NOTHING;
UPDATE user_account SET login_id = id, email_address = email WHERE login_id IS NULL;
ALTER TABLE user_account ALTER COLUMN login_id SET NOT NULL, ALTER COLUMN email_address SET NOT NULL,
    ADD FOREIGN KEY (login_id) REFERENCES login DEFERRABLE INITIALLY DEFERRED;
CREATE UNIQUE INDEX user_account_address ON user_account (workspace_id, lower(email_address));
CREATE INDEX user_account_login ON user_account (login_id);
CREATE INDEX user_account_address_domain ON user_account (split_part(lower(email_address), '@', 2), workspace_id);

ALTER TABLE passkey DROP CONSTRAINT passkey_user_id_fkey,
    ADD CONSTRAINT passkey_login FOREIGN KEY (user_id) REFERENCES login ON DELETE CASCADE NOT VALID;
ALTER TABLE passkey VALIDATE CONSTRAINT passkey_login;
ALTER TABLE recovery_code DROP CONSTRAINT recovery_code_user_id_fkey,
    ADD CONSTRAINT recovery_code_login FOREIGN KEY (user_id) REFERENCES login ON DELETE CASCADE NOT VALID;
ALTER TABLE recovery_code VALIDATE CONSTRAINT recovery_code_login;
ALTER TABLE password_reset DROP CONSTRAINT password_reset_user_id_fkey,
    ADD CONSTRAINT password_reset_login FOREIGN KEY (user_id) REFERENCES login ON DELETE CASCADE NOT VALID;
ALTER TABLE password_reset VALIDATE CONSTRAINT password_reset_login;
"""

DOWN = """
DELETE FROM user_account WHERE id <> login_id;
ALTER TABLE password_reset DROP CONSTRAINT password_reset_login, ADD FOREIGN KEY (user_id) REFERENCES user_account
    ON DELETE CASCADE;
ALTER TABLE recovery_code DROP CONSTRAINT recovery_code_login, ADD FOREIGN KEY (user_id) REFERENCES user_account
    ON DELETE CASCADE;
ALTER TABLE passkey DROP CONSTRAINT passkey_login, ADD FOREIGN KEY (user_id) REFERENCES user_account
    ON DELETE CASCADE;
DROP TRIGGER user_account_filled ON user_account;
DROP TRIGGER user_account_added ON user_account;
DROP TRIGGER user_account_changed ON user_account;
DROP TRIGGER user_account_removed ON user_account;
ALTER TABLE user_account DROP COLUMN login_id, DROP COLUMN email_address;
ALTER TABLE invitation DROP COLUMN mailed;
DROP TABLE login;
DROP FUNCTION user_account_filled, user_account_added, user_account_changed, user_account_removed, login_changed;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
