"""The scorecard as text."""

from datetime import UTC, datetime

from leadwire.infrastructure import clock
from ops.chaos.records import Post
from ops.chaos.verdict import Scorecard


def lines(card: Scorecard) -> list[str]:
    """Return one line per figure; the last line is the verdict."""
    repeated = ", ".join(f"{kind} {count}" for kind, count in card.duplicates.items())
    outbox = (
        f"missing {card.changes_without_event}, without a change {card.events_without_change}, "
        f"doubled {card.events_doubled}, rows in a wrong state {card.wrong_state}"
    )
    return [
        f"changes accepted        {card.accepted:8}  ({card.asked_again} had to be asked for more than once)",
        f"events in the outbox    {card.events:8}  ({outbox})",
        f"deliveries owed         {card.owed:8}  ({_counts(card.deliveries)}; redriven {card.redriven})",
        f"POSTs received          {card.posts:8}",
        f"lost                    {card.lost:8}",
        f"duplicates              {sum(card.duplicates.values()):8}  ({repeated or 'none'})",
        f"  unexplained           {card.unexplained:8}  (the others each have the end of their own worker, see --json)",
        *(f"    {_post(post)}, after {_post(first)}" for first, post in card.suspects),
        f"wrong signature         {card.wrong_signature:8}",
        f"body not the same twice {card.altered:8}",
        f"out of order            {card.out_of_order:8}  (per lead, everywhere; promised to one endpoint only)",
        f"out of promised order   {card.misordered:8}",
        f"numbers wrong           {card.misnumbered:8}",
        f"unfinished              {card.unfinished:8}",
        "",
        "from commit to the first 2xx, seconds         p50      p99      max",
        *(
            f"  {name:<38}{late.p50:9.3f}{late.p99:9.3f}{late.max:9.3f}  n={late.count}"
            for name, late in card.late.items()
        ),
        "from a fault until a later change is delivered, seconds",
        *(
            f"  {name:<38}{took.p50:9.3f}         {took.max:9.3f}  n={took.count}"
            for name, took in card.recovery.items()
        ),
        "",
        "ledger: " + ("balanced" if not any(card.ledger.values()) else _counts(card.ledger)),
        "NOT KEPT: " + "; ".join(card.failures) if card.failures else "Every promise was kept.",
    ]


def _post(post: Post) -> str:
    arrived = clock.iso(datetime.fromtimestamp(post.at, UTC))
    return f"{post.endpoint}/{post.event_id} attempt {post.attempt} by {post.sender} {arrived} -> {post.answer}"


def _counts(counts: object) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(dict(counts).items())) or "none"  # type: ignore[call-overload]
