"""Whether there is mail, what waits or died, and which addresses were refused."""

import msgspec

from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import Contents, MailListed, State, Suppressed
from leadwire.domain.mail.table import Mail, MailSuppression
from leadwire.infrastructure import secret_box, settings
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named

(_COUNTS,) = named(__file__, "counts")


def enabled() -> bool:
    """Whether mail is configured. Without it none is written, and no page offers it."""
    return settings.get().smtp_url is not None


def is_mailbox() -> bool:
    """Whether mail is kept and shown, as under `leadwire up`."""
    server = settings.get().smtp_url
    return server is not None and server.is_mailbox


async def reaches(workspace: str, address: str) -> bool:
    """Whether a mail of this workspace to this address would be sent. Raise Invalid when it is none."""
    return enabled() and not await MailSuppression.exists().where(
        MailSuppression.workspace_id == workspace, MailSuppression.address == compose.address(address)
    )


@query()
async def suppressed(workspace: str) -> list[Suppressed]:
    """The addresses that mail of this workspace was refused for."""


@query()
async def listed(state: State | None, most: int) -> list[MailListed]:
    """Mails of every workspace, newest first, for operators."""


async def counts() -> dict[str, int]:
    """How many mails wait and how many are dead."""
    (counted,) = await _COUNTS.rows()
    return dict(counted)


def opened(mail_id: str, data: bytes) -> Contents:
    """What a mail's sealed column holds. Raise OperatorError when its key is not among ours."""
    return msgspec.json.decode(secret_box.get().open_once(data, secret_box.place(Mail.data, mail_id)), type=Contents)
