"""Providers of single sign-on, set up by two people at once."""

from functools import partial

import pytest

from leadwire.domain.accounts.domains import changes as domains
from leadwire.domain.accounts.domains import reads as domain_reads
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.accounts.sso import reads
from leadwire.infrastructure import preconditions
from leadwire.infrastructure.errors import Conflict
from tests.delivery.interleaved import overlapped

NAME = "example.org"


async def test_the_second_to_save_at_the_same_moment_is_told_of_the_first(workspace, resolver):
    await domains.add(workspace, NAME)
    (domain,) = await domain_reads.listed(workspace)
    resolver.texts[NAME] = [domain.record]
    await domains.check(workspace, domain.id, "ada@example.org")
    provider = await sso.add(workspace, "Acme ID", "https://login.example.org")
    saw = preconditions.digest((await reads.one(provider, workspace)).chosen)
    save = [
        partial(
            sso.configure, workspace, provider, sso.Setup(client_id=name, client_secret="s", domains=[NAME]), saw=saw
        )
        for name in ("first", "second")
    ]
    with pytest.raises(Conflict, match="Somebody else has changed this"):
        await overlapped(*save)
    assert (await reads.one(provider, workspace)).client_id == "first"
