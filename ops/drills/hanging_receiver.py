"""A customer's server takes connections and never answers. Everybody else's webhooks must not notice."""

from ops.drills.scene import Scene

RUNBOOK = "ops/runbooks/endpoint-backlog.md"
ENDPOINTS = ("healthy", "hanging")
SETTINGS = {"DELIVERY_TIMEOUT": "2", "LEASE": "12", "RETRY_SCHEDULE": "1,2,3"}


async def play(scene: Scene) -> None:
    """Find the endpoint with `status`; what waits for it is sent by itself when it answers again."""
    scene.receiver.answers["hanging"] = 0
    scene.say("the endpoint `hanging` takes connections and never answers")
    accepted = await scene.push(400, 40)
    scene.claim("the healthy endpoint has had every event meanwhile", scene.missing(accepted, "healthy") <= 5)
    _, told = await scene.command("status")
    scene.claim("`status` names the endpoint that is behind", scene.receiver.url("hanging") in told)
    scene.claim("and no other", scene.receiver.url("healthy") not in told)
    scene.say("the customer restarts the server")
    scene.receiver.answers["hanging"] = 204
    await scene.quiet()
    late = scene.late(accepted, "healthy")
    scene.say(
        f"the healthy endpoint had its events after {late[len(late) // 2]:.3f} s (p50), {late[-1]:.3f} s (longest)"
    )
    for name in ENDPOINTS:
        scene.claim(f"`{name}` lacks none of {len(accepted)}", scene.missing(accepted, name) == 0)
    await scene.balanced()
