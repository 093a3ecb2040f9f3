"""The primary of a Redis Cluster that holds the streams is killed; its replica takes over. Nobody does anything."""

import functools

from ops.drills import redis_failover
from ops.drills.redis_failover import ENDPOINTS, RUNBOOK, SETTINGS
from ops.drills.redis_topologies import topology

__all__ = ["ENDPOINTS", "RUNBOOK", "SETTINGS", "redis", "run"]

redis = functools.partial(topology, "cluster")
run = redis_failover.run
