"""What may happen to the people of one workspace, and their ways in, at once."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from leadwire.domain.accounts import changes as keys
from leadwire.domain.accounts import joining, schema
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.keys import digest
from leadwire.domain.accounts.sign_in import changes as sign_in
from leadwire.domain.accounts.sign_in import passwords
from leadwire.domain.accounts.sign_in.changes import passkeys, password_reset, second_factor, sessions
from leadwire.domain.accounts.sign_in.changes.passkeys import Answer, Site
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.accounts.sso import reads
from leadwire.domain.accounts.sso.changes import sign_in as sso_sign_in
from leadwire.domain.accounts.sso.tokens import Claims
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations.changes import inbox
from leadwire.infrastructure import clock, db, redis_pool
from leadwire.infrastructure.errors import DomainError
from tests import make
from tests.domain.accounts.sign_in.device import Device
from tests.interleavings import kept
from tests.interleavings.sessions import Order, Session, each_order, interleave

SITE: Final = Site("https://leads.example")
PASSWORD: Final = "a long way to Tipperary"
EVERY: Final = re.compile("")  # statement
SETUP: Final = sso.Setup(
    name="Company", client_id="client", client_secret="secret", domains=["example.org"], trusts_email=True,
    default_role="agent", role_claim="groups", roles={"admins": "admin", "agents": "agent"},
)  # fmt: skip
BROWSER: Final = Browser("127.0.0.1", "Firefox", "another")

_WITHOUT_AGENT: Final = """
SELECT count(*) FROM conversation c JOIN user_account u ON u.id = c.assigned_to AND u.role = 'viewer'"""

Operation = Callable[["People"], Awaitable[object]]
OPERATIONS: Final[dict[str, Operation]] = {}


class People:
    """Eve, who looks after the others, and Ada, of whom there is a row in each table. Both are admins."""

    async def make(self) -> None:
        self.workspace = await keys.create_workspace("Test")
        bot = await bots.create(self.workspace, "Bot")
        self.eve, self.ada, self.ben = [await make.user(self.workspace, role) for role in ("admin", "admin", "agent")]
        hashed = await passwords.digest(PASSWORD)
        await db.rows("UPDATE user_account SET password_hash = $1, email = lower(email)", hashed)
        self.email = await db.value("SELECT email FROM user_account WHERE id = $1", self.ada)
        self.key, _ = await keys.create_key(self.workspace, "CRM")
        self.invited = await team.invite(self.workspace, "new@example.org", "agent")
        self.withdrawn = await db.value("SELECT id FROM invitation")
        self.elsewhere = await team.invite(await keys.create_workspace("Another"), None, "agent")
        async with db.transaction():
            self.tokens = [await sessions.begin(self.ada, Browser("127.0.0.1", "", mark)) for mark in ("one", "two")]
            admin = await sessions.begin(self.eve, BROWSER)
        self.link = "a link"
        hours = clock.now() + password_reset.LIFE
        await password_reset._ADD.rows(user_id=self.ada, hash=digest(self.link), expires_at=hours)
        self.provider = await sso.add(self.workspace, "Company", "https://login.example.org")
        await make.domain(self.workspace)
        await sso.configure(self.workspace, self.provider, SETUP)
        self.conversation = await make.conversation(self.workspace, bot)
        await inbox.claim(self.workspace, self.conversation, self.ada)
        self.person = await sessions.person(self.tokens[0], "127.0.0.1")
        self.admin = await sessions.person(admin, "127.0.0.1")
        options, ticket = await passkeys.creation_options(self.person, SITE)
        self.device = Device(SITE.origin)
        await passkeys.add(self.person, "Phone", Answer(SITE, ticket, self.device.make(options)))
        self.passkey = await db.value("SELECT id FROM passkey")
        self.codes = await second_factor.make_codes(self.ada)
        async with db.transaction():
            self.tokens[1] = await sessions.begin(self.ada, Browser("127.0.0.1", "", "two"))
        self.ticket = second_factor.ticket(self.ada, hashed)

    async def form(self, by: schema.Person, work: Awaitable[Any]) -> None:
        """As forms of the web area do: the entry comes last."""
        async with audit.transaction(by, "thing.done"):
            await work

    async def came(self, name: str, group: str) -> None:
        """Somebody has signed in at the provider."""
        now = clock.now().timestamp()
        claims = Claims("", "", now, now, name, email=f"{name}@example.org", email_verified=True,
                        auth_time=now, every={"groups": [group]})  # fmt: skip
        await sso_sign_in.sign_in(await reads.one(self.provider), claims, BROWSER)


def _operation(work: Operation) -> Operation:
    OPERATIONS[work.__name__] = work
    return work


@_operation
async def remove(people: People) -> None:
    await people.form(people.admin, team.remove_user(people.workspace, people.ada))


@_operation
async def remove_colleague(people: People) -> None:
    await people.form(people.person, team.remove_user(people.workspace, people.ben))


@_operation
async def change_role(people: People) -> None:
    await people.form(people.admin, team.change_role(people.workspace, people.ada, "agent"))


@_operation
async def give_up_role(people: People) -> None:
    await people.form(people.admin, team.change_role(people.workspace, people.eve, "agent"))


@_operation
async def demote_colleague(people: People) -> None:
    await people.form(people.admin, team.change_role(people.workspace, people.ben, "viewer"))


@_operation
async def invite(people: People) -> None:
    await team.invite(people.workspace, "new@example.org", "admin", "eve@example.org")


@_operation
async def withdraw(people: People) -> None:
    await people.form(people.admin, team.withdraw(people.workspace, people.withdrawn))


@_operation
async def accept(people: People) -> None:
    await team.accept(people.invited, "new@example.org", PASSWORD, BROWSER)


@_operation
async def join_another_workspace(people: People) -> None:
    async with db.transaction():
        await joining.join(people.elsewhere, people.ada, "127.0.0.1")


@_operation
async def sign_in_by_password(people: People) -> None:
    await sign_in.sign_in(people.email, PASSWORD, BROWSER)


@_operation
async def give_recovery_code(people: People) -> None:
    await sign_in.give_code(people.ticket, people.codes[0], BROWSER)


@_operation
async def sign_out(people: People) -> None:
    await people.form(people.person, sessions.end(people.tokens[1]))


@_operation
async def sign_out_everywhere(people: People) -> None:
    await people.form(people.person, sessions.end_all(people.ada, people.person.session_id))


@_operation
async def change_password(people: People) -> None:
    await sign_in.change_password(people.person, PASSWORD, f"{PASSWORD} and back")


@_operation
async def reset_password(people: People) -> None:
    await password_reset.use(people.link, f"{PASSWORD} again", BROWSER)


@_operation
async def ask_for_a_link(people: People) -> None:
    await password_reset.ask(people.email, "127.0.0.1")


@_operation
async def make_codes(people: People) -> None:
    await people.form(people.person, second_factor.make_codes(people.ada))


@_operation
async def add_passkey(people: People) -> None:
    options, ticket = await passkeys.creation_options(people.person, SITE)
    await passkeys.add(people.person, "Another", Answer(SITE, ticket, Device(SITE.origin).make(options)))


@_operation
async def sign_in_by_passkey(people: People) -> None:
    options, ticket = passkeys.request_options(SITE)
    await sign_in.give_passkey(Answer(SITE, ticket, people.device.answer(options)), "", BROWSER)


@_operation
async def add_app(people: People) -> None:
    secret, offered = second_factor.offer(people.ada)
    code = second_factor._totp(secret).generate(int(clock.now().timestamp())).decode()
    await second_factor.add(people.person, offered, code)


@_operation
async def remove_passkey(people: People) -> None:
    await people.form(people.person, passkeys.remove(people.ada, people.passkey))


@_operation
async def remove_second_factor(people: People) -> None:
    await people.form(people.admin, second_factor.remove(people.workspace, people.ada))


@_operation
async def come_from_a_provider(people: People) -> None:
    await people.came(people.ada, "agents")


@_operation
async def be_made_by_a_provider(people: People) -> None:
    await people.came("somebody", "admins")


@_operation
async def come_with_an_invitation(people: People) -> None:
    await people.came("new", "agents")


@_operation
async def configure_provider(people: People) -> None:
    await people.form(people.admin, sso.configure(people.workspace, people.provider, SETUP))


@_operation
async def remove_provider(people: People) -> None:
    await people.form(people.admin, sso.remove(people.workspace, people.provider))


@_operation
async def emergency_account(people: People) -> None:
    await people.form(people.admin, sso.set_break_glass(people.workspace, people.ada, on=True))


@_operation
async def allow_passwords(people: People) -> None:
    await people.form(people.admin, sso.allow_passwords(people.workspace))


@_operation
async def create_key(people: People) -> None:
    await people.form(people.person, keys.create_key(people.workspace, "Another"))


@_operation
async def roll_key(people: People) -> None:
    await people.form(people.admin, keys.roll_key(people.workspace, people.key, 0))


@_operation
async def assign(people: People) -> None:
    to = inbox.assign(people.workspace, people.conversation, people.ada, people.ben, held_by=people.ada)
    await people.form(people.person, to)


@_operation
async def claim(people: People) -> None:
    await inbox.claim(people.workspace, people.conversation, people.ben, held_by=people.ada)


async def meet(people: People, names: tuple[str, str]) -> tuple[int, list[str]]:
    """Let two operations meet, the first held before each of its statements. Return how many orders, and what does not
    hold: each ends, perhaps by a refusal, the workspace has an admin, and who has a conversation answers visitors.
    """
    orders, violations = 0, list[str]()

    async def work(name: str) -> None:
        try:
            await OPERATIONS[name](people)
        except (DomainError, db.Orphaned):
            return

    async def play(order: Order, patient: bool) -> tuple[Session, Session]:
        nonlocal orders
        orders += 1
        await kept.restore()
        await redis_pool.require_client().flushall()  # tries are counted there
        both = await interleave([partial(work, name) for name in names], EVERY, order, patient=patient)
        wrong = [repr(error) for error in (session.error() for session in both) if error]
        if not await db.value("SELECT count(*) FROM user_account WHERE role = 'admin'"):
            wrong.append("nobody is an admin")
        if await db.value("SELECT count(*) FROM login WHERE id NOT IN (SELECT login_id FROM user_account)"):
            wrong.append("a login has no account")
        if await db.value(_WITHOUT_AGENT):
            wrong.append("somebody has a conversation who answers nobody")
        violations.extend(f"{' and '.join(names)}, {order}: {what}" for what in wrong)
        return both

    await each_order(play)
    return orders, violations
