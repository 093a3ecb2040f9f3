"""Whatever can be wrong with a sign-on, each by its name, with an advice. Pure."""

from typing import Final

from leadwire.infrastructure.errors import DomainError

ADMIN: Final = "Tell an admin of your team: Settings, Single sign-on, Test names what is wrong."
AGAIN: Final = "Begin again. If it happens twice, tell an admin of your team."

FAULTS: Final[dict[str, tuple[str, str]]] = {
    "not_set_up": ("This provider is not set up yet.", "An admin has to enter its client id, secret and domains."),
    "too_old": ("This sign-in took too long, or was begun in another browser.", "Begin again, in one browser."),
    "wrong_state": ("The answer belongs to another sign-in.", "Begin again, in one tab."),
    "replayed": ("This answer has been used before.", "Begin again."),
    "malformed_answer": ("The provider's answer is incomplete, or holds something twice.", AGAIN),
    "mix_up": ("The answer comes from another provider than the one that was asked.", AGAIN),
    "declined": ("The provider did not sign you in.", "Begin again, or ask whoever runs the provider for access."),
    "unreachable": ("The provider cannot be reached.", "Try again in a minute."),
    "forbidden_address": ("The provider's address may not be called.", ADMIN),
    "redirected": ("The provider answers with a redirect.", ADMIN),
    "too_large": ("The provider's answer is too large.", ADMIN),
    "wrong_status": ("The provider answers with an error.", ADMIN),
    "not_json": ("The provider's answer is not the JSON that it should be.", ADMIN),
    "wrong_issuer": ("The provider calls itself by another name than its issuer.", ADMIN),
    "no_keys": ("The provider publishes no key that can be used.", ADMIN),
    "client_refused": ("The provider does not know our client id and secret.", ADMIN),
    "code_refused": ("The provider refused its own code.", AGAIN),
    "no_token": ("The provider sent no ID token.", ADMIN),
    "malformed_token": ("The provider's token is not one signed token.", ADMIN),
    "wrong_algorithm": ("The token is not signed with RS256, PS256, ES256 or EdDSA.", ADMIN),
    "unknown_key": ("The token is signed with a key that the provider does not publish.", AGAIN),
    "wrong_signature": ("The token's signature is wrong.", ADMIN),
    "wrong_token_issuer": ("The token was issued by another provider.", ADMIN),
    "wrong_audience": ("The token is for another application.", ADMIN),
    "wrong_party": ("The token was given to another application.", ADMIN),
    "wrong_nonce": ("The token belongs to another sign-in.", "Begin again."),
    "expired": ("The token has expired.", "Begin again. If it happens twice, the provider's clock is wrong."),
    "not_yet_valid": ("The token is not valid yet.", "The provider's clock is ahead of ours: tell an admin."),
    "wrong_userinfo": ("The provider told us about another person than the one who signed in.", ADMIN),
    "no_email": ("The provider does not tell your e-mail address.", ADMIN),
    "email_not_verified": ("The provider has not verified your e-mail address.", "Verify it there, then begin again."),
    "foreign_domain": ("This provider may not sign in people with an e-mail address of your domain.", ADMIN),
    "no_role": ("The provider gives you no role here.", "Ask whoever runs the provider to add you to a group."),
    "no_account": ("You have no account here yet.", "Ask an admin of your team for an invitation."),
    "removed": ("An admin of your team has removed your account.", "Ask them to invite you again."),
    "taken": ("The account with your e-mail address belongs to somebody else at this provider.", ADMIN),
    "no_address": ("No account can be made with your e-mail address.", "Ask an admin of your team."),
    "another_person": ("Somebody else signed in than the person who is signed in here.", "Begin again as yourself."),
    "not_anew": (
        "The provider did not say that you have just signed in anew.",
        "Its token needs the claim auth_time: tell an admin of your team.",
    ),
    "no_logout": ("This is no logout token.", "It needs iat, jti, the event of a logout, sid or sub, and no nonce."),
}
"""What is wrong, and what helps, by the name of the fault."""


class SignOnRefused(DomainError, status=400, code="sign_on_refused", title="You are not signed in"):
    """A sign-on failed. `told` is what only admins may see: it can name addresses, and what the provider said."""

    def __init__(self, fault: str, told: str = "") -> None:
        what, self.advice = FAULTS[fault]
        super().__init__(what)
        self.fault = fault
        self.told = told[:300]
