"""The scorecard as text."""

from collections.abc import Mapping
from datetime import UTC, datetime

from leadwire.infrastructure import clock
from ops.chaos.matched import Made
from ops.chaos.verdict import Scorecard


def lines(cards: Mapping[str, Scorecard]) -> list[str]:
    """Return one line per figure; the last line is the verdict. The first card is told in full."""
    (_, first), *others = cards.items()
    told = [_beside(name, card) for name, card in others]
    broken = [f"{name}: {failure}" for name, card in cards.items() for failure in card.failures]
    verdict = "NOT KEPT: " + "; ".join(broken) if broken else "Every promise was kept."
    return [*_lines(first), *told, verdict]


def _beside(name: str, card: Scorecard) -> str:
    longest = max((late.max for late in card.late.values()), default=0.0)
    return (
        f"{name:<24}{card.accepted:8}  (changes; lost {card.lost}, repeated {_counts(card.duplicates)}, "
        f"out of promised order {card.misordered}; the longest took {longest:.1f} s)"
    )


def _lines(card: Scorecard) -> list[str]:
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
        *(f"    {_made(one)}, after {_made(first)}" for first, one in card.suspects),
        f"wrong signature         {card.wrong_signature:8}",
        f"body not the same twice {card.altered:8}",
        f"out of order            {card.out_of_order:8}  (per lead, everywhere; promised to one endpoint only)",
        f"out of promised order   {card.misordered:8}",
        *(f"    {_made(later)}, before {_made(first)}" for first, later in card.overtaken),
        f"numbers wrong           {card.misnumbered:8}",
        f"retries too early       {len(card.early):8}  (attempts with one number {card.twice})",
        f"sent to erased people   {len(card.sent_to_erased):8}",
        f"canceled                {card.deliveries.get('cancelled', 0):8}  (by nobody {len(card.canceled_by_nobody)})",
        f"  sent nevertheless     {len(card.sent_when_canceled):8}",
        f"acknowledged by nobody  {len(card.unseen):8}  (and counted as delivered)",
        f"queued again in the end {card.reconciled:8}  (nothing could be lost by then)",
        f"unfinished              {card.unfinished:8}",
        f"customers' acts         {sum(card.acts.values()):8}  ({_counts(card.acts)})",
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
    ]


def _made(made: Made) -> str:
    post, attempt = made.post, made.attempt
    told = f"{post.endpoint}/{post.event_id} attempt {made.generation}.{post.attempt} by {post.sender} {_time(post.at)}"
    recorded = f"{attempt.outcome}, begun {_time(attempt.at)}, {attempt.took:.1f} s" if attempt else "not recorded"
    return f"{told} -> {post.answer} after {post.held:.1f} s ({recorded})"


def _time(at: float) -> str:
    return clock.iso(datetime.fromtimestamp(at, UTC))


def _counts(counts: object) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(dict(counts).items())) or "none"  # type: ignore[call-overload]
