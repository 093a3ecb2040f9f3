"""What goes in and out, in pydantic."""

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class Out(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class SourceOut(Out):
    url: str | None
    campaign: str | None
    referrer: str | None


class LeadOut(Out):
    id: str
    email: str | None
    name: str | None
    phone: str | None
    company: str | None
    score: int
    source: SourceOut
    custom_fields: dict[str, Any]
    conversation_id: str
    bot_id: str
    created_at: datetime
    updated_at: datetime


class LeadUpdated(LeadOut):
    previous_attributes: dict[str, Any]


class Envelope(BaseModel):
    event: str
    timestamp: datetime
    data: LeadUpdated


class MessageOut(Out):
    id: str
    role: str
    content: str
    created_at: datetime


class VisitorOut(Out):
    email: str | None
    name: str | None


class HandoffOut(Out):
    reason: str | None
    requested_at: datetime


class MetadataOut(Out):
    source: SourceOut
    locale: str | None
    timezone: str | None
    browser: str | None
    os: str | None
    flow_version: int | None
    variables: dict[str, Any]
    ended_at: datetime | None
    ended_by: str | None
    end_reason: str | None
    handoff: HandoffOut | None


class ConversationOut(Out):
    id: str
    bot_id: str
    status: Literal["active", "ended", "handoff"]
    visitor: VisitorOut
    created_at: datetime
    updated_at: datetime
    messages: list[MessageOut]
    lead: LeadOut | None
    metadata: MetadataOut = Field(validation_alias="about")


class Meta(BaseModel):
    total: int
    page: int
    per_page: int


class Page(BaseModel, Generic[T]):
    data: list[T]
    meta: Meta


class One(BaseModel, Generic[T]):
    data: T


class LeadPatch(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str | None = Field(None, max_length=200)
    email: str | None = Field(None, max_length=254)
    phone: str | None = Field(None, max_length=32)
    company: str | None = Field(None, max_length=200)
    score: int = Field(0, ge=0, le=100)
    custom_fields: dict[str, str | int | float | bool | None] | None = None


class LeadQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = Field(20, ge=1, le=100)
    page: int = Field(1, ge=1)
    score_min: int | None = None
    score_max: int | None = None
    bot_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
