"""`leadwire reseal`: the last step of changing LEADWIRE_SECRET_KEY."""

import click

from leadwire.interfaces.cli.runtime import json_option, running, tell


@click.command()
@json_option
@running
async def reseal(as_json: bool) -> None:
    """Encrypt every secret with the first key of LEADWIRE_SECRET_KEY, so that the other keys can be removed.

    First put the new key in front, on every host, and restart everything: only then does every process open what this
    seals. Visitors who were blocked before are not known again: of their networks only a hash under the key is kept.
    """
    from leadwire.delivery.endpoints import table as endpoints
    from leadwire.domain.accounts import table as accounts
    from leadwire.infrastructure import secret_box

    done = [await secret_box.reseal(secret_box.get(), column) for column in (*endpoints.SEALED, *accounts.SEALED)]
    told = f"{sum(done)} secrets were encrypted again: the first key decrypts all of them now."
    tell({"sealed": sum(done)}, told, as_json=as_json)
