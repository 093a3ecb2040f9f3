"""Our tables in SQLAlchemy's ORM."""

import os
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, DateTime, ForeignKey, SmallInteger, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    type_annotation_map = {str: Text, dict[str, Any]: JSON, datetime: DateTime(timezone=True)}  # noqa: RUF012


class Source:
    source_url: Mapped[str | None]
    source_campaign: Mapped[str | None]
    source_referrer: Mapped[str | None]

    @property
    def source(self) -> dict[str, Any]:
        return {"url": self.source_url, "campaign": self.source_campaign, "referrer": self.source_referrer}


class Lead(Source, Base):
    __tablename__ = "lead"

    id: Mapped[str] = mapped_column(primary_key=True)
    workspace_id: Mapped[str]
    bot_id: Mapped[str]
    conversation_id: Mapped[str]
    email: Mapped[str | None]
    name: Mapped[str | None]
    phone: Mapped[str | None]
    company: Mapped[str | None]
    score: Mapped[int] = mapped_column(SmallInteger)
    custom_fields: Mapped[dict[str, Any]]
    version: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    def change(self, patch: dict[str, Any]) -> dict[str, Any]:
        """Apply a merge patch; answers the old value of each attribute that changed."""
        previous: dict[str, Any] = {}
        if "custom_fields" in patch:
            was, given = self.custom_fields, patch.pop("custom_fields") or {}
            now = {key: value for key, value in {**was, **given}.items() if value is not None}
            if differ := [key for key in {**was, **now} if was.get(key) != now.get(key)]:
                previous["custom_fields"] = {key: was.get(key) for key in differ}
                self.custom_fields = now
        for field, value in patch.items():
            if getattr(self, field) != value:
                previous[field] = getattr(self, field)
                setattr(self, field, value)
        return previous


class Message(Base):
    __tablename__ = "message"

    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversation.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str]
    role: Mapped[str]
    content: Mapped[str]
    created_at: Mapped[datetime]


class Conversation(Source, Base):
    __tablename__ = "conversation"

    id: Mapped[str] = mapped_column(primary_key=True)
    workspace_id: Mapped[str]
    bot_id: Mapped[str]
    lead_id: Mapped[str | None] = mapped_column(ForeignKey("lead.id"))
    status: Mapped[str]
    visitor_email: Mapped[str | None]
    visitor_name: Mapped[str | None]
    locale: Mapped[str | None]
    timezone: Mapped[str | None]
    browser: Mapped[str | None]
    os: Mapped[str | None]
    flow_version: Mapped[int | None]
    variables: Mapped[dict[str, Any]]
    handoff_reason: Mapped[str | None]
    handoff_requested_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[str | None]
    end_reason: Mapped[str | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    messages: Mapped[list[Message]] = relationship(order_by=Message.seq)
    lead: Mapped[Lead | None] = relationship()

    @property
    def visitor(self) -> dict[str, Any]:
        return {"email": self.visitor_email, "name": self.visitor_name}

    @property
    def handoff(self) -> dict[str, Any] | None:
        if self.handoff_requested_at is None:
            return None
        return {"reason": self.handoff_reason, "requested_at": self.handoff_requested_at}

    @property
    def about(self) -> "Conversation":
        return self


class RecordedEvent(Base):
    __tablename__ = "event"

    id: Mapped[str] = mapped_column(primary_key=True)
    workspace_id: Mapped[str]
    kind: Mapped[str]
    conversation_id: Mapped[str | None]
    lead_id: Mapped[str | None]
    subject: Mapped[str | None]
    body: Mapped[str]
    occurred_at: Mapped[datetime]
    traceparent: Mapped[str | None]

    @classmethod
    def about(cls, lead: Lead, event_id: str, kind: str, body: str, at: datetime) -> "RecordedEvent":
        return cls(
            id=event_id,
            workspace_id=lead.workspace_id,
            kind=kind,
            conversation_id=lead.conversation_id,
            lead_id=lead.id,
            subject=lead.conversation_id,
            body=body,
            occurred_at=at,
            traceparent=f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-00",
        )
