"""Single sign-on by OpenID Connect: the authorization code flow with PKCE, and logout from the back channel.

`flow.py` goes through the steps, `provider.py` reads what a provider publishes, `tokens.py` judges what it signs,
`faults.py` names whatever can be wrong. Accounts and sessions are changed in `changes/sso_sign_in.py`.
"""
