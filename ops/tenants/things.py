"""What the ids of a workspace belong to: one maker for each kind, by the name that paths give it."""

import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.domains import changes as domains
from leadwire.domain.accounts.schema import Role
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads as bot_reads
from leadwire.domain.bots.visitors import faq, runtime
from leadwire.domain.bulk_changes import changes as bulk_changes
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.exports import changes as exports
from leadwire.domain.leads.schema import LeadPatch, Source
from leadwire.domain.notices.changes import addresses
from leadwire.domain.views import changes as views
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks import redrives
from leadwire.infrastructure import clock, db, ids

MARK: Final = "Bellerophon"
"""In each text of the other workspace. Who is shown it is shown too much."""
WORDS: Final = {
    "key": "conversations",
    "name": "nothing",
    "operation": "release",
    "step": "pause",
    "step_id": "email",
    "token": "made-up",
    "/webhooks/{endpoint_id}/secret/{step} step": "stage",
}
"""Parameters that are no ids, of any path or of this one: the same for every workspace."""
_FLOW: Final = """
format = 1
start = "email"

[[nodes]]
type = "ask"
id = "email"
text = "Your e-mail?"
input = "email"
save_to = "email"
next = "bye"

[[nodes]]
type = "end"
id = "bye"
text = "Bye."
"""


class Unknown(Exception):
    """A kind of id that nothing makes."""


class Things:
    """Of one workspace and one of its people, each made when it is asked for first."""

    def __init__(self, workspace: str, user_id: str, mark: str) -> None:
        self.workspace, self.user_id, self.mark = workspace, user_id, mark
        self.made: dict[str, str] = {}
        self.token = ""
        """Of the visitor of its conversation."""

    async def id(self, name: str) -> str:
        """The id of the thing that paths call `name`. Raise Unknown."""
        if name not in MAKERS:
            raise Unknown(
                f"{{{name}}}: say in ops/tenants/things.py how one is made (MAKERS), or that it is no id (WORDS)"
            )
        if name not in self.made:
            self.made[name] = await MAKERS[name](self)
        return self.made[name]

    async def all(self, path: str) -> dict[str, str]:
        """What the parameters of a path stand for. Raise Unknown."""
        names = re.findall(r"{(\w+)}", path)
        return {name: WORDS.get(f"{path} {name}") or WORDS.get(name) or await self.id(name) for name in names}


async def _bot(of: Things) -> str:
    bot = await bots.create(of.workspace, f"Bot {of.mark}")
    await bots.save_draft(of.workspace, bot, _FLOW)
    await bots.publish(of.workspace, bot)
    return bot


async def _entry(of: Things) -> str:
    bot = await of.id("bot_id")
    await bots.add_faq_entry(of.workspace, bot, f"Who is {of.mark}?", "A hero.")
    return str(await db.value("SELECT max(id) FROM faq_entry WHERE bot_id = $1", bot))


async def _conversation(of: Things) -> str:
    bot = await bot_reads.live(await of.id("bot_id"))
    origin = Origin(source=Source("/pricing", None, None))
    turn = await runtime.start(
        bot, f"I am {of.mark}", secrets.token_hex(12), origin, secrets.token_bytes(16), faq.answer
    )
    of.token = turn.token or ""
    await conversations.hand_off(of.workspace, turn.conversation_id, "asked for a person")
    return turn.conversation_id


async def _lead(of: Things) -> str:
    found = LeadPatch(name=of.mark, email=f"{secrets.token_hex(6)}@{of.mark.lower()}.example")
    return (await conversations.capture_lead(of.workspace, await of.id("conversation_id"), found)).id


async def _event(of: Things) -> str:
    await of.id("lead_id")
    return str(await db.value("SELECT max(id) FROM event WHERE workspace_id = $1", of.workspace))


async def _endpoint(of: Things) -> str:
    """One that has something to deliver."""
    event = await of.id("event_id")
    made = await webhooks.create(of.workspace, f"https://127.0.0.1/{of.mark}", ["lead.created"])
    await db.rows(
        """INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at)
           VALUES ($1, $2, $3, 'waiting', 'infinity')""",
        event, made.id, of.workspace,
    )  # fmt: skip
    return made.id


async def _consent(of: Things) -> str:
    made, lead = ids.new("cons"), await of.id("lead_id")
    await db.rows(
        """INSERT INTO consent (id, workspace_id, lead_id, bot_id, node, text, answer, given, created_at)
           VALUES ($1, $2, $3, $4, 'agree', $5, 'Yes', true, $6)""",
        made, of.workspace, lead, await of.id("bot_id"), f"May we call {of.mark}?", clock.now(),
    )  # fmt: skip
    return made


async def _reply(of: Things) -> str:
    name = f"{of.mark} {secrets.token_hex(4)}"
    await inbox.add_reply(of.workspace, name, f"Hello from {of.mark}")
    return str(await db.value("SELECT id FROM saved_reply WHERE workspace_id = $1 AND name = $2", of.workspace, name))


async def _view(of: Things) -> str:
    name = f"{of.mark} {secrets.token_hex(4)}"
    await views.save(of.workspace, of.user_id, name, "", [])
    return str(await db.value("SELECT id FROM lead_view WHERE workspace_id = $1 AND name = $2", of.workspace, name))


async def _bulk(of: Things) -> str:
    leads, now = [await of.id("lead_id")], clock.iso(clock.now())
    return await bulk_changes.begin(of.workspace, of.user_id, "set", leads, now, "company", of.mark)


async def _redrive(of: Things) -> str:
    return (await redrives.start(of.workspace, redrives.Selection(endpoint_id=await of.id("endpoint_id")))).id


async def _export(of: Things) -> str:
    return (await exports.create(of.workspace, "leads", "ndjson", "")).id


async def _key(of: Things) -> str:
    return (await accounts.create_key(of.workspace, f"Key {of.mark}"))[0]


async def _invitation(of: Things) -> str:
    email = f"{secrets.token_hex(6)}@{of.mark.lower()}.example"
    await team.invite(of.workspace, email, "viewer")
    return str(await db.value("SELECT id FROM invitation WHERE workspace_id = $1 AND email = $2", of.workspace, email))


async def _colleague(of: Things) -> str:
    return (await person(of.workspace, "admin", of.mark))[0]


async def person(workspace: str, role: Role, mark: str) -> tuple[str, str]:
    """A person who has joined a workspace: their id, and the token of their session."""
    email = f"{secrets.token_hex(6)}@{mark.lower()}.example"
    link = await team.invite(workspace, email, role)
    token = await team.accept(link, email, secrets.token_urlsafe(16), Browser("127.0.0.1"))
    return str(await db.value("SELECT id FROM user_account WHERE email = $1", email)), token


async def _session(of: Things) -> str:
    made, now = ids.new("sess"), clock.now()
    await db.rows(
        """INSERT INTO user_session (id, user_id, hash, created_at, seen_at, confirmed_at, address, agent)
           VALUES ($1, $2, $3, $4, $4, $4, '127.0.0.1', $5)""",
        made, of.user_id, secrets.token_bytes(32), now, of.mark,
    )  # fmt: skip
    return made


async def _passkey(of: Things) -> str:
    made = ids.new("pass")
    await db.rows(
        """INSERT INTO passkey
               (id, user_id, name, credential_id, public_key, sign_count, backed_up, transports, created_at)
           VALUES ($1, $2, $3, $4, $4, 0, false, '{}', $5)""",
        made, of.user_id, of.mark, secrets.token_bytes(32), clock.now(),
    )  # fmt: skip
    return made


async def _provider(of: Things) -> str:
    made = ids.new("idp")
    await db.rows(
        """INSERT INTO identity_provider (id, workspace_id, name, issuer, client_id, domains, created_at)
           VALUES ($1, $2, $3, $4, 'client', '{}', $5)""",
        made, of.workspace, of.mark, f"https://127.0.0.1/{of.mark}", clock.now(),
    )  # fmt: skip
    return made


async def _domain(of: Things) -> str:
    name = await domains.add(of.workspace, f"{of.mark}-{secrets.token_hex(4)}.example")
    return str(await db.value("SELECT id FROM email_domain WHERE domain = $1", name))


async def _address(of: Things) -> str:
    made, _ = await addresses.add(of.workspace, "slack", f"http://127.0.0.1:9001/{of.mark}", ["endpoints"])
    return made


MAKERS: Final[dict[str, Callable[[Things], Awaitable[str]]]] = {
    "bot_id": _bot,
    "entry_id": _entry,
    "conversation_id": _conversation,
    "lead_id": _lead,
    "event_id": _event,
    "endpoint_id": _endpoint,
    "consent_id": _consent,
    "reply_id": _reply,
    "view_id": _view,
    "bulk_id": _bulk,
    "job_id": _redrive,
    "export_id": _export,
    "key_id": _key,
    "invitation_id": _invitation,
    "user_id": _colleague,
    "session_id": _session,
    "passkey_id": _passkey,
    "provider_id": _provider,
    "domain_id": _domain,
    "address_id": _address,
}
