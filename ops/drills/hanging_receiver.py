"""A customer's server accepts connections and never answers. Webhooks to other servers must not be delayed."""

from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/endpoint-backlog.md"
ENDPOINTS = ("healthy", "hanging")
SETTINGS = {"DELIVERY_TIMEOUT": "2", "LEASE": "12", "RETRY_SCHEDULE": "1,2,3,4,5,6"}


async def run(sandbox: Sandbox) -> None:
    """Find the endpoint with `status`; what waits for it is sent by itself when it answers again."""
    sandbox.receiver.answers["hanging"] = 0
    sandbox.say("the endpoint `hanging` takes connections and never answers")
    accepted = await sandbox.send_changes(400, 40)
    sandbox.claim("the healthy endpoint has had every event meanwhile", sandbox.missing(accepted, "healthy") <= 5)
    _, output = await sandbox.command("status")
    sandbox.claim("`status` names the endpoint that is behind", sandbox.receiver.url("hanging") in output)
    sandbox.claim("and no other", sandbox.receiver.url("healthy") not in output)
    sandbox.say("the customer restarts the server")
    sandbox.receiver.answers["hanging"] = 204
    await sandbox.settled()
    late = sandbox.late(accepted, "healthy")
    sandbox.say(
        f"the healthy endpoint had its events after {late[len(late) // 2]:.3f} s (p50), {late[-1]:.3f} s (longest)"
    )
    for name in ENDPOINTS:
        sandbox.claim(f"`{name}` lacks none of {len(accepted)}", sandbox.missing(accepted, name) == 0)
    await sandbox.balanced()
