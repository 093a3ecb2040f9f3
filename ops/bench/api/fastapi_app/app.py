"""The same endpoints in FastAPI + SQLAlchemy 2 (async ORM) + pydantic, on our tables, as their manuals show it."""

import hashlib
import os
import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Query
from models import Conversation, Lead, RecordedEvent
from shapes import ConversationOut, Envelope, LeadOut, LeadPatch, LeadQuery, LeadUpdated, One, Page
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import joinedload, selectinload

engine = create_async_engine(
    os.environ["LEADWIRE_DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://", 1),
    pool_size=int(os.environ["BASELINE_POOL_SIZE"]),
    max_overflow=0,
    connect_args={"server_settings": {"timezone": "UTC", "jit": "off"}},
)
Session = async_sessionmaker(engine, expire_on_commit=False)
KEYS = {hashlib.sha256(os.environ["BASELINE_KEY"].encode()).digest(): os.environ["BASELINE_WORKSPACE"]}
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


async def session():
    async with Session() as opened:
        yield opened


async def caller(authorization: Annotated[str | None, Header()] = None) -> str:
    if authorization and authorization.startswith("Bearer "):
        workspace = KEYS.get(hashlib.sha256(authorization[7:].encode()).digest())
        if workspace:
            return workspace
    raise HTTPException(401)


Db = Annotated[AsyncSession, Depends(session)]
Workspace = Annotated[str, Depends(caller)]
app = FastAPI()


@app.get("/v1/leads")
async def list_leads(q: Annotated[LeadQuery, Query()], workspace: Workspace, db: Db) -> Page[LeadOut]:
    where = [Lead.workspace_id == workspace]
    for given, condition in (
        (q.score_min, lambda: Lead.score >= q.score_min),
        (q.score_max, lambda: Lead.score <= q.score_max),
        (q.bot_id, lambda: Lead.bot_id == q.bot_id),
        (q.since, lambda: Lead.created_at > q.since),
        (q.until, lambda: Lead.created_at < q.until),
    ):
        if given is not None:
            where.append(condition())
    newest = select(Lead).where(*where).order_by(Lead.created_at.desc(), Lead.id.desc())
    rows = (await db.scalars(newest.limit(q.limit).offset((q.page - 1) * q.limit))).all()
    total = await db.scalar(select(func.count()).select_from(Lead).where(*where))
    return {"data": rows, "meta": {"total": total, "page": q.page, "per_page": q.limit}}


@app.get("/v1/leads/{lead_id}")
async def show_lead(lead_id: str, workspace: Workspace, db: Db) -> One[LeadOut]:
    lead = await db.scalar(select(Lead).where(Lead.workspace_id == workspace, Lead.id == lead_id))
    if lead is None:
        raise HTTPException(404)
    return {"data": lead}


@app.patch("/v1/leads/{lead_id}")
async def update_lead(lead_id: str, patch: LeadPatch, workspace: Workspace, db: Db) -> One[LeadOut]:
    found = select(Lead).where(Lead.workspace_id == workspace, Lead.id == lead_id).with_for_update()
    lead = await db.scalar(found)
    if lead is None:
        raise HTTPException(404)
    previous = lead.change(patch.model_dump(exclude_unset=True))
    at = datetime.now(UTC)
    if previous:
        lead.version, lead.updated_at = lead.version + 1, at
    out = LeadOut.model_validate(lead)
    if previous:
        updated = LeadUpdated.model_construct(**dict(out), previous_attributes=previous)
        body = Envelope.model_construct(event="lead.updated", timestamp=at, data=updated).model_dump_json()
        db.add(RecordedEvent.about(lead, event_id(), "lead.updated", body, at))
        await db.commit()
    return {"data": out}


@app.get("/v1/conversations/{conversation_id}")
async def show_conversation(conversation_id: str, workspace: Workspace, db: Db) -> One[ConversationOut]:
    conversation = await db.scalar(
        select(Conversation)
        .where(Conversation.workspace_id == workspace, Conversation.id == conversation_id)
        .options(selectinload(Conversation.messages), joinedload(Conversation.lead))
    )
    if conversation is None:
        raise HTTPException(404)
    return {"data": conversation}


def event_id() -> str:
    number = time.time_ns() // 1_000_000 << 80 | 0x7 << 76 | int.from_bytes(os.urandom(9))
    return "evt_" + "".join([DIGITS[number >> shift & 31] for shift in range(125, -1, -5)])
