"""Every change of conversations: their life, what operators do in the inbox, saved replies, erasure."""

from leadwire.domain.conversations.changes.erasure import erase as erase
from leadwire.domain.conversations.changes.erasure import lock_of_lead as lock_of_lead
from leadwire.domain.conversations.changes.lifecycle import capture_lead as capture_lead
from leadwire.domain.conversations.changes.lifecycle import end as end
from leadwire.domain.conversations.changes.lifecycle import hand_off as hand_off
from leadwire.domain.conversations.changes.lifecycle import start as start
from leadwire.domain.conversations.changes.lifecycle import update_visitor as update_visitor
from leadwire.domain.conversations.changes.messages import add_message as add_message
from leadwire.domain.conversations.changes.messages import add_messages as add_messages
