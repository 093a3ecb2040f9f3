"""Privacy: what is kept for how long, and forgetting a person by their e-mail address."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.privacy import changes
from leadwire.infrastructure import settings
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen


@screen("/privacy", role="admin")
async def privacy(context: PageContext) -> Response[str]:
    """What is kept, and the form to forget somebody."""
    return await context.render("privacy.html", days=settings.get().retention_days)


@action("/privacy/erase", shown_on=privacy)
async def erase(context: PageContext) -> Response[Any]:
    """Everything about whoever has this address is gone, at every bot of the workspace."""
    email = context.form.text("email")
    if not email or context.form.text("confirm").casefold() != email.casefold():
        raise wrong("confirm", "not_confirmed", "Type the same address twice.")
    async with audit.transaction(context.me, "person.erased") as entry:
        erased = await changes.erase_person(context.workspace, email)
        entry.detail = ", ".join(erased)  # ids alone: the address must not live on in the log
        if not erased:
            raise wrong("email", "unknown_value", "Nobody here has this address.")
    return await context.redirect("/privacy", f"Erased: {len(erased)} {'lead' if len(erased) == 1 else 'leads'}.")
